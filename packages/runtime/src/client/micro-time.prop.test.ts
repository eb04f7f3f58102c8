// MicroTimes keep their microseconds on the way out and back.
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { formatMicroTime, parseMicroTime } from "./micro-time.ts";

it("has six digits, and reads back as written", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e12 }), fc.integer({ min: 0, max: 999 }), (ms, micros) => {
      const text = formatMicroTime(ms + micros / 1000);
      expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      expect(Math.abs((parseMicroTime(text) ?? Number.NaN) - (ms + micros / 1000))).toBeLessThan(0.0011);
    }),
  );
});

it("writes and reads what others do", () => {
  expect(formatMicroTime(0)).toBe("1970-01-01T00:00:00.000000Z");
  expect(formatMicroTime(1.5)).toBe("1970-01-01T00:00:00.001500Z");
  expect(parseMicroTime("1970-01-01T00:00:01Z")).toBe(1000);
  expect(parseMicroTime("1970-01-01T01:00:00.25+01:00")).toBe(250);
  expect(parseMicroTime("1970-01-01T00:00:00.000000500Z")).toBe(0.0005);
  for (const text of ["", "yesterday", "1970-01-01", "1970-13-01T00:00:00Z", "1970-01-01T00:00:00"]) expect(parseMicroTime(text)).toBeUndefined();
});
