// Time that stands still while the source is away.
import { array, assert, nat, property, tuple } from "fast-check";
import { expect, test } from "vitest";
import { dueAfter, withStretch } from "./counted-time.ts";
import type { FrozenStretch } from "./rotation-log.ts";

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
