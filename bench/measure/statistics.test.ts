// Medians and ranges of few rounds.
import { describe, expect, test } from "vitest";
import { quantile, summarize } from "./statistics.ts";

describe("quantile", () => {
  test("takes the middle value, or the mean of the two", () => {
    expect(quantile([3, 1, 2], 0.5)).toBe(2);
    expect(quantile([4, 1, 2, 3], 0.5)).toBe(2.5);
  });

  test("interpolates towards the ends", () => {
    expect(quantile([0, 10], 0.99)).toBeCloseTo(9.9);
    expect(quantile([7], 0.99)).toBe(7);
  });
});

test("a summary has the median and the range", () => {
  expect(summarize([5, 1, 9])).toEqual({ median: 5, lowest: 1, highest: 9, rounds: 3 });
});
