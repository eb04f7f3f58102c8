// MicroTimes keep their microseconds.
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { formatMicroTime } from "./lease-state.ts";

it("has six digits: the time that Date reads, and its microseconds", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e12 }), fc.integer({ min: 0, max: 999 }), (ms, micros) => {
      const text = formatMicroTime(ms + micros / 1000);
      expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      expect(Math.abs(Date.parse(text.replace(/\d{3}Z$/, "Z")) + Number(text.slice(-4, -1)) / 1000 - (ms + micros / 1000))).toBeLessThan(0.0011);
    }),
  );
});

it("writes what others do", () => {
  expect(formatMicroTime(0)).toBe("1970-01-01T00:00:00.000000Z");
  expect(formatMicroTime(1.5)).toBe("1970-01-01T00:00:00.001500Z");
});
