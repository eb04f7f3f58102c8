// The limits: the first never waits, later ones are spaced, and no window of a minute is ever overfull.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextWriteAt, nextUpdateAt, rememberWrite } from "./rate-limit.ts";

const limits = { intervalMs: 5000, perMinute: 12 };

describe("passes", () => {
  test("the first is at once, the second 5 s later", () => {
    expect(nextWriteAt([], limits, 100)).toBe(100);
    expect(nextWriteAt([100], limits, 101)).toBe(5100);
  });

  test("0 switches a limit off", () => {
    expect(nextWriteAt([100, 100, 100], { intervalMs: 0, perMinute: 0 }, 100)).toBe(100);
    expect(nextWriteAt([0, 1, 2], { intervalMs: 0, perMinute: 3 }, 2)).toBe(60_000);
    expect(nextWriteAt([0, 1, 2], { intervalMs: 10, perMinute: 0 }, 2)).toBe(12);
  });

  test("whenever somebody asks, passes keep their distance and their number, and none waits for nothing", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20_000), { maxLength: 60 }), fc.record({ intervalMs: fc.nat(8000), perMinute: fc.nat(15) }), (pauses, limits) => {
        const all: number[] = [];
        let remembered: readonly number[] = [];
        let nowMs = 0;
        for (const pause of pauses) {
          nowMs += pause;
          const at = Math.max(nowMs, nextWriteAt(remembered, limits, nowMs));
          const waited = at > nowMs;
          nowMs = at;
          const isAllowed = (time: number): boolean =>
            (all.length === 0 || time - (all.at(-1) ?? 0) >= limits.intervalMs) &&
            (limits.perMinute === 0 || all.filter((earlier) => earlier > time - 60_000).length < limits.perMinute);
          expect(isAllowed(at)).toBe(true);
          expect(waited && isAllowed(at - 1)).toBe(false);
          all.push(at);
          remembered = rememberWrite(remembered, at);
        }
      }),
    );
  });
});

describe("ConfigMap updates", () => {
  test("the first is at once, the next after the interval, and none waits for a date in the future", () => {
    expect(nextUpdateAt(undefined, 60_000, 5)).toBe(5);
    expect(nextUpdateAt(5, 60_000, 6)).toBe(60_005);
    expect(nextUpdateAt(5, 0, 6)).toBe(5);
    expect(nextUpdateAt(999_999, 60_000, 6)).toBe(6);
  });
});
