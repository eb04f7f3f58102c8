// Planted regressions are found, noise alone is not held against anybody, and the comparison does not depend on what it should not depend on.
import * as fc from "fast-check";
import { seededRandom } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { compareRounds, noiseOf } from "./guard.ts";

/** Rounds around a centre whose logarithms have this deviation. */
function rounds(
  random: () => number,
  { centre, noise, count }: { readonly centre: number; readonly noise: number; readonly count: number },
): readonly number[] {
  // The sum of twelve draws is close enough to a normal one.
  const normal = (): number => Array.from({ length: 12 }, random).reduce((sum, value) => sum + value, -6);
  return Array.from({ length: count }, () => centre * Math.exp(noise * normal()));
}

/** How often, of 1,000 runs of three rounds next to a baseline of nine, a run whose ratio has changed by `factor` is called worse. */
function shareCalledWorse(factor: number, noise: number): number {
  const next = seededRandom(11);
  const calls = Array.from({ length: 1000 }, () => {
    const before = rounds(next, { centre: 1.3, noise, count: 9 });
    return compareRounds(before, rounds(next, { centre: 1.3 * factor, noise, count: 3 })).worse;
  });
  return calls.filter(Boolean).length / calls.length;
}

describe("planted regressions", () => {
  test("of 30 % are found in a noise of 6 %, nearly always", () => {
    expect(shareCalledWorse(1.3, 0.06)).toBeGreaterThan(0.9);
  });

  test("of 10 % are found where there is hardly any noise", () => {
    expect(shareCalledWorse(1.1, 0.01)).toBeGreaterThan(0.99);
  });

  test("that are none are called so rarely that two looks in a row hardly ever do", () => {
    for (const noise of [0.02, 0.06, 0.15]) expect(shareCalledWorse(1, noise)).toBeLessThan(0.02);
  });

  test("in the better direction are none", () => {
    expect(shareCalledWorse(0.7, 0.05)).toBe(0);
  });
});

const ratio = fc.double({ min: 0.01, max: 100, noNaN: true });
const someRatios = fc.array(ratio, { minLength: 1, maxLength: 12 });

describe("a comparison", () => {
  test("never calls a median worse that has not risen by 5 %", () => {
    fc.assert(
      fc.property(someRatios, someRatios, (before, now) => {
        const compared = compareRounds(before, now);
        if (compared.worse) expect(compared.now).toBeGreaterThan(compared.before * 1.05);
      }),
    );
  });

  test("does not change when all figures change alike", () => {
    fc.assert(
      fc.property(someRatios, someRatios, fc.constantFrom(0.5, 2, 8), (before, now, factor) => {
        const scaled = compareRounds(
          before.map((value) => value * factor),
          now.map((value) => value * factor),
        );
        expect(Math.log(scaled.allowed)).toBeCloseTo(Math.log(compareRounds(before, now).allowed), 6);
      }),
    );
  });

  test("does not call worse what is better still than something that was not", () => {
    fc.assert(
      fc.property(someRatios, someRatios, fc.double({ min: 0.1, max: 1, noNaN: true }), (before, now, factor) => {
        const better = compareRounds(
          before,
          now.map((value) => value * factor),
        );
        if (!compareRounds(before, now).worse) expect(better.worse).toBe(false);
      }),
    );
  });

  test("of nothing, or of what is no ratio, is an error", () => {
    expect(() => compareRounds([], [1])).toThrow("comparing ratios");
    expect(() => compareRounds([1], [Number.NaN])).toThrow("comparing ratios");
    expect(() => compareRounds([1, 0], [1])).toThrow("comparing ratios");
  });
});

test("noise is that within the sets, not between them", () => {
  expect(
    noiseOf([
      [1, 1],
      [9, 9],
    ]),
  ).toBe(0);
  expect(noiseOf([[1], [9]])).toBe(0);
  expect(noiseOf([[1, Math.E], []])).toBeCloseTo(Math.SQRT1_2);
});
