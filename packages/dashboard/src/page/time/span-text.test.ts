import { describe, expect, it } from "vitest";
import { absoluteText, relativeText, spanText } from "./span-text.ts";

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
  it("tells the past from the future", () => {
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
