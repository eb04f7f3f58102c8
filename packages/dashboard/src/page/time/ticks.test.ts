import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ticksOf } from "./ticks.ts";
import { followingRange, narrowestMs, widestMs } from "./time-range.ts";

const hour = 3_600_000;
const from = Date.UTC(2026, 10, 15, 20, 10);
const labels = (spanMs: number, offsetMinutes = 0): readonly string[] =>
  ticksOf({ fromMs: from, toMs: from + spanMs }, { most: 6, offsetMinutes }).map(({ label }) => label);

describe("ticksOf", () => {
  it("names round times", () => {
    expect(labels(hour / 2)).toEqual(["20:10", "20:15", "20:20", "20:25", "20:30", "20:35", "20:40"]);
    expect(labels(2 * 60_000)).toEqual(["20:10:00", "20:10:30", "20:11:00", "20:11:30", "20:12:00"]);
    expect(labels(6 * hour)).toEqual(["21:00", "22:00", "23:00", "16 Nov", "01:00", "02:00"]);
    expect(labels(24 * 5 * hour)).toEqual(["16 Nov", "17 Nov", "18 Nov", "19 Nov", "20 Nov"]);
    expect(labels(24 * 40 * hour)).toEqual(["16 Nov", "23 Nov", "30 Nov", "7 Dec", "14 Dec", "21 Dec"]);
    expect(labels(24 * 150 * hour)).toEqual(["Dec", "2027", "Feb", "Mar", "Apr"]);
  });

  it("counts in local time", () => expect(labels(6 * hour, 90)).toEqual(["22:00", "23:00", "16 Nov", "01:00", "02:00", "03:00"]));

  it("never crowds the axis, stays within it, and goes forward", () => {
    fc.assert(
      fc.property(
        fc.double({ min: narrowestMs, max: widestMs, noNaN: true }),
        fc.integer({ min: 2, max: 20 }),
        fc.integer({ min: -720, max: 840 }),
        (spanMs, most, offsetMinutes) => {
          const range = followingRange(spanMs, from);
          const ticks = ticksOf(range, { most, offsetMinutes });
          expect(ticks.length).toBeLessThanOrEqual(most + 1);
          for (const [index, tick] of ticks.entries()) {
            expect(tick.atMs).toBeGreaterThanOrEqual(range.fromMs - 1);
            expect(tick.atMs).toBeLessThanOrEqual(range.toMs + 1);
            expect(tick.atMs).toBeGreaterThan(ticks[index - 1]?.atMs ?? -Infinity);
          }
        },
      ),
    );
  });
});
