import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { absoluteText, followingRange, narrowestMs, relativeText, spanText, ticksOf, widestMs } from "./time.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

describe("spanText", () => {
  it.each([
    [-5, "0 s"],
    [0, "0 s"],
    [59_999, "59 s"],
    [minute, "1 min"],
    [hour - 1, "59 min"],
    [2 * hour + 5 * minute, "2 h 5 min"],
    [3 * day, "3 d"],
    [3 * day + 4 * hour, "3 d 4 h"],
    [85 * day + 7 * hour, "85 d"],
    [740 * day, "2 y 10 d"],
  ])("%d ms is %s", (ms, text) => expect(spanText(ms)).toBe(text));
});

describe("relativeText", () => {
  it("distinguishes the past from the future", () => {
    expect(relativeText(1000, 3 * minute + 1000)).toBe("3 min ago");
    expect(relativeText(2 * hour, 0)).toBe("in 2 h");
    expect(relativeText(500, 0)).toBe("now");
  });
});

describe("absoluteText", () => {
  const at = Date.UTC(2026, 10, 15, 23, 55, 4);
  it("names the offset of the clock that it is read on", () => {
    expect(absoluteText(at, 0)).toBe("2026-11-15 23:55:04 UTC");
    expect(absoluteText(at, 60)).toBe("2026-11-16 00:55:04 +01:00");
    expect(absoluteText(at, -210)).toBe("2026-11-15 20:25:04 −03:30");
  });
  it("does not fail on a time that cannot be", () => expect(absoluteText(Number.NaN, 0)).toBe("unknown time"));
});

const hourTicks = 3_600_000;
const from = Date.UTC(2026, 10, 15, 20, 10);
const labels = (spanMs: number, offsetMinutes = 0): readonly string[] =>
  ticksOf({ fromMs: from, toMs: from + spanMs }, { most: 6, offsetMinutes }).map(({ label }) => label);

describe("ticksOf", () => {
  it("names round times", () => {
    expect(labels(hourTicks / 2)).toEqual(["20:10", "20:15", "20:20", "20:25", "20:30", "20:35", "20:40"]);
    expect(labels(2 * 60_000)).toEqual(["20:10:00", "20:10:30", "20:11:00", "20:11:30", "20:12:00"]);
    expect(labels(6 * hourTicks)).toEqual(["21:00", "22:00", "23:00", "16 Nov", "01:00", "02:00"]);
    expect(labels(24 * 5 * hourTicks)).toEqual(["16 Nov", "17 Nov", "18 Nov", "19 Nov", "20 Nov"]);
    expect(labels(24 * 40 * hourTicks)).toEqual(["16 Nov", "23 Nov", "30 Nov", "7 Dec", "14 Dec", "21 Dec"]);
    expect(labels(24 * 150 * hourTicks)).toEqual(["Dec", "2027", "Feb", "Mar", "Apr"]);
  });

  it("counts in local time", () => expect(labels(6 * hourTicks, 90)).toEqual(["22:00", "23:00", "16 Nov", "01:00", "02:00", "03:00"]));

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
