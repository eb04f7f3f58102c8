// How often one key may write: the first write never waits, later ones are spaced, and no window of a minute is ever overfull.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextWriteAt, RateByClient, rememberWrite } from "./rate-limit.ts";
import { VirtualClock } from "./testing/virtual-clock.ts";

const limits = { minIntervalMs: 5000, maxPerMinute: 12 };

describe("writes for one key", () => {
  test("the first is at once, the second 5 s later", () => {
    expect(nextWriteAt([], limits, 100)).toBe(100);
    expect(nextWriteAt([100], limits, 101)).toBe(5100);
  });

  test("0 switches a limit off", () => {
    expect(nextWriteAt([100, 100, 100], { minIntervalMs: 0, maxPerMinute: 0 }, 100)).toBe(100);
    expect(nextWriteAt([0, 1, 2], { minIntervalMs: 0, maxPerMinute: 3 }, 2)).toBe(60_000);
    expect(nextWriteAt([0, 1, 2], { minIntervalMs: 10, maxPerMinute: 0 }, 2)).toBe(12);
  });

  test("whenever somebody asks, writes keep their distance and their number, and none waits for nothing", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(20_000), { maxLength: 60 }),
        fc.record({ minIntervalMs: fc.nat(8000), maxPerMinute: fc.nat(15) }),
        (pauses, limits) => {
          const all: number[] = [];
          let remembered: readonly number[] = [];
          let nowMs = 0;
          for (const pause of pauses) {
            nowMs += pause;
            const at = Math.max(nowMs, nextWriteAt(remembered, limits, nowMs));
            const waited = at > nowMs;
            nowMs = at;
            const isAllowed = (time: number): boolean =>
              (all.length === 0 || time - (all.at(-1) ?? 0) >= limits.minIntervalMs) &&
              (limits.maxPerMinute === 0 || all.filter((earlier) => earlier > time - 60_000).length < limits.maxPerMinute);
            expect(isAllowed(at)).toBe(true);
            expect(waited && isAllowed(at - 1)).toBe(false);
            all.push(at);
            remembered = rememberWrite(remembered, at);
          }
        },
      ),
    );
  });
});

test("a client has a burst and then a steady rate, each for itself", async () => {
  const clock = new VirtualClock();
  const limit = new RateByClient({ burst: 2, perMs: 0.001 }, clock);
  expect([limit.take("a"), limit.take("a"), limit.take("a"), limit.take("b")]).toEqual([true, true, false, true]);
  expect([limit.allows("a"), limit.allows("b")]).toEqual([false, true]);
  expect(limit.retryAfterSeconds).toBe(1);
  await clock.advance(1000);
  expect([limit.allows("a"), limit.take("a"), limit.take("a")]).toEqual([true, true, false]);
});
