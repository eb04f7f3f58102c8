// Time that stands still while the source is away.
import * as fc from "fast-check";
import { array, assert, nat, property, tuple } from "fast-check";
import { expect, it, test } from "vitest";
import type { FrozenStretch } from "./history.ts";
import { DueTimes } from "./metrics.ts";
import { dueAfter, withStretch } from "./source.ts";

const stretches = array(tuple(nat(50), nat(50)), { maxLength: 6 }).map((parts) => {
  const made: FrozenStretch[] = [];
  for (const [gap, length] of parts) {
    const fromMs = (made.at(-1)?.toMs ?? 0) + gap + 1;
    made.push({ fromMs, toMs: fromMs + length });
  }
  return made;
});

test("as many moments that count lie before the due time as the delay asks for", () => {
  assert(
    property(nat(200), nat(100), stretches, (fromMs, delayMs, frozen) => {
      const dueMs = dueAfter(fromMs, delayMs, frozen);
      let counted = 0;
      for (let at = fromMs; at < dueMs; at++) if (!frozen.some((stretch) => stretch.fromMs <= at && at < stretch.toMs)) counted += 1;
      expect(counted).toBe(delayMs);
    }),
  );
});

test("a stretch that begins where the last one ended continues it", () => {
  expect(withStretch([{ fromMs: 1, toMs: 5 }], { fromMs: 5, toMs: 9 })).toEqual([{ fromMs: 1, toMs: 9 }]);
  expect(withStretch([{ fromMs: 1, toMs: 5 }], { fromMs: 6, toMs: 9 })).toEqual([
    { fromMs: 1, toMs: 5 },
    { fromMs: 6, toMs: 9 },
  ]);
});

test("however often the source comes and goes, the list stays short, and nothing becomes due earlier for it", () => {
  const all: FrozenStretch[] = [];
  let kept: readonly FrozenStretch[] = [];
  for (let at = 0; at < 1000; at += 10) {
    all.push({ fromMs: at, toMs: at + 3 });
    kept = withStretch(kept, { fromMs: at, toMs: at + 3 });
  }
  expect(kept.length).toBe(32);
  for (const fromMs of [0, 55, 500, 995]) expect(dueAfter(fromMs, 60, kept)).toBeGreaterThanOrEqual(dueAfter(fromMs, 60, all));
});

// The earliest due time, against looking at all of them.

it("is always the smallest of the times that are set", () => {
  const change = fc.tuple(fc.constantFrom("a", "b", "c", "d"), fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined }));
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const dueTimes = new DueTimes();
      const times = new Map<string, number>();
      for (const [key, dueMs] of changes) {
        dueTimes.set(key, dueMs);
        if (dueMs === undefined) times.delete(key);
        else times.set(key, dueMs);
        expect(dueTimes.earliestMs).toBe(times.size === 0 ? undefined : Math.min(...times.values()));
      }
    }),
  );
});
