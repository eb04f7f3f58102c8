import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, maxDurationMs, parseDuration, parseStoredDuration } from "./clock.ts";

describe("parseDuration", () => {
  it.each([
    ["0", 0],
    ["0s", 0],
    ["5s", 5000],
    ["1.5s", 1500],
    ["1h30m", 5_400_000],
    ["720h", 2_592_000_000],
    ["250ms", 250],
    ["1m0.5s", 60_500],
  ])("reads %s", (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(["", "5", "-5s", "5 s", "5d", "s", "1h-30m", "1e3s", "five"])("refuses %o and says what is wanted", (text) => {
    expect(() => parseDuration(text)).toThrow(`"${text}" is not a duration such as 30s, 5m or 1h30m`);
  });
});

describe("the longest duration, 100 years", () => {
  const tooLong = ["876000h1ms", "99999999h", "9999999999h", `${"9".repeat(400)}h`];

  it("is read by itself", () => {
    expect(parseDuration("876000h")).toBe(maxDurationMs);
  });

  it.each(tooLong)("%s is refused, and it says what the longest is", (text) => {
    expect(() => parseDuration(text)).toThrow("is longer than 876000h (100 years)");
  });

  it.each(tooLong)("%s that is stored counts as the longest", (text) => {
    expect(parseStoredDuration(text)).toBe(maxDurationMs);
  });

  it("added to any date of this millennium is a date that RFC 3339 can say", () => {
    expect(new Date(Date.UTC(2999, 11, 31) + maxDurationMs).toISOString()).toMatch(/^\d{4}-/);
  });
});

it("reads back every duration that it writes", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000_000 }), (milliseconds) => {
      expect(parseDuration(formatDuration(milliseconds))).toBeCloseTo(milliseconds, 3);
    }),
  );
});
