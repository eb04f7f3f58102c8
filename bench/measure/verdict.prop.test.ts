// Growth that is faster than N log N is found, and growth that is not passes, whatever else the cost is made of.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { costAt, excessOverNLogN as excess, fitNLogN, nLogN, type SizedCost } from "./verdict.ts";

/** No cost of these tests is below this. */
const excessOverNLogN = (measured: readonly SizedCost[]): number => excess(measured, 1e-6);
const sizes = [125, 250, 500, 1000, 2000];
const scale = fc.double({ min: 0.001, max: 1000, noNaN: true });
/** What it costs to be there at all, in parts of the cost of the smallest size. */
const start = fc.double({ min: 0, max: 20, noNaN: true });
const costs = (cost: (size: number) => number) => sizes.map((size) => ({ size, cost: cost(size) }));
const powerWith = (exponent: number, fixed: number, factor: number) => costs((size) => factor * (fixed + (size / 125) ** exponent));

describe("the excess over N log N", () => {
  test("is one for N log N, whatever its start and its scale", () => {
    fc.assert(
      fc.property(start, scale, (fixed, factor) => {
        expect(excessOverNLogN(costs((size) => factor * (fixed + nLogN(size) / nLogN(125))))).toBeCloseTo(1, 3);
      }),
    );
  });

  test("is not above one for what grows with N or more slowly", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), start, scale, (exponent, fixed, factor) => {
        expect(excessOverNLogN(powerWith(exponent, fixed, factor))).toBeLessThanOrEqual(1.001);
      }),
    );
  });

  test("is above the tolerance for N to the power of 1.5 and more, also behind a start that costs ten times the smallest size", () => {
    const modest = fc.double({ min: 0, max: 10, noNaN: true });
    fc.assert(
      fc.property(fc.double({ min: 1.5, max: 3, noNaN: true }), modest, scale, (exponent, fixed, factor) => {
        expect(excessOverNLogN(powerWith(exponent, fixed, factor))).toBeGreaterThan(1.15);
      }),
    );
  });

  test("does not depend on the order in which sizes were measured", () => {
    const measured = powerWith(1.4, 3, 1);
    fc.assert(
      fc.property(fc.shuffledSubarray(measured, { minLength: measured.length }), (shuffled) => {
        expect(excessOverNLogN(shuffled)).toBe(excessOverNLogN(measured));
      }),
    );
  });

  test("is not made of what cannot be told from nothing", () => {
    expect(
      excess(
        costs(() => 0),
        10,
      ),
    ).toBeCloseTo(1);
    expect(
      excess(
        costs((size) => (size === 2000 ? 3 : 0)),
        10,
      ),
    ).toBeCloseTo(1);
    expect(
      excess(
        costs((size) => (size === 2000 ? 3000 : 0)),
        10,
      ),
    ).toBeGreaterThan(100);
  });

  test("takes three sizes", () => {
    expect(() => excessOverNLogN(costs((size) => size).slice(0, 2))).toThrow("2 sizes were measured; it takes three");
  });
});

test("neither part of the curve is ever negative", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0.001, max: 1e6, noNaN: true }), { minLength: sizes.length, maxLength: sizes.length }), (values) => {
      const curve = fitNLogN(sizes.map((size, index) => ({ size, cost: values[index] ?? 1 })));
      expect(curve.fixed).toBeGreaterThanOrEqual(0);
      expect(curve.perUnit).toBeGreaterThanOrEqual(0);
      expect(costAt(curve, 4000)).toBeGreaterThanOrEqual(costAt(curve, 125));
    }),
  );
});
