// Axes hold every value, and name few and round ones.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { linearScale, logScale, shortNumber } from "./scale.ts";

const span = { start: 100, end: 500 };
const values = fc.array(fc.double({ min: 1e-3, max: 1e8, noNaN: true }), { minLength: 1, maxLength: 12 });

describe.each([
  ["linear", linearScale],
  ["logarithmic", logScale],
])("a %s axis", (_, scaleOf) => {
  test("holds every value, in order", () => {
    fc.assert(
      fc.property(values, (some) => {
        const { place } = scaleOf(some, span);
        const places = some.toSorted((a, b) => a - b).map(place);
        for (const pixel of places) expect(pixel).toBeGreaterThanOrEqual(span.start - 0.1);
        for (const pixel of places) expect(pixel).toBeLessThanOrEqual(span.end + 0.1);
        expect(places).toEqual(places.toSorted((a, b) => a - b));
      }),
    );
  });

  test("names between one and ten values, all of them on the axis", () => {
    fc.assert(
      fc.property(values, (some) => {
        const { place, ticks } = scaleOf(some, span);
        expect(ticks.length).toBeGreaterThanOrEqual(1);
        expect(ticks.length).toBeLessThanOrEqual(12);
        for (const tick of ticks) expect(place(tick)).toBeLessThanOrEqual(span.end + 0.1);
      }),
    );
  });
});

test("a linear axis begins at zero", () => {
  expect(linearScale([3, 7], span).ticks).toEqual([0, 2, 4, 6, 8]);
  expect(linearScale([0], span).ticks).toEqual([0, 1]);
});

test("a logarithmic axis names 1, 2 and 5, or whole decades when there are many", () => {
  expect(logScale([0.3, 4], span).ticks).toEqual([0.2, 0.5, 1, 2, 5]);
  expect(logScale([3, 40_000], span).ticks).toEqual([10, 100, 1000, 10_000]);
});

test("numbers are short", () => {
  expect([0, 0.5, 12, 1500, 20_000, 3_000_000].map(shortNumber)).toEqual(["0", "0.5", "12", "1.5k", "20k", "3M"]);
});
