// One object, however often it changes, has the identity provider asked at a steady rate at most.
import { expect, test } from "vitest";
import { RunLimits } from "./rate-limits.ts";

test("twenty runs may come together, then one every five seconds; others are not held up", () => {
  const limits = new RunLimits(3_600_000);
  for (let run = 0; run < 20; run++) expect(limits.take("a/loud", 1_000)).toBeUndefined();
  expect(limits.take("a/loud", 1_000)).toBe(5_000);
  expect(limits.take("a/loud", 3_000)).toBe(3_000);
  expect(limits.take("a/quiet", 3_000)).toBeUndefined();
  expect(limits.take("a/loud", 6_000)).toBeUndefined();
  expect(limits.take("a/loud", 6_000)).toBe(5_000);
  // Until it was left alone for long enough.
  for (let run = 0; run < 20; run++) expect(limits.take("a/loud", 106_000)).toBeUndefined();
  expect(limits.take("a/loud", 106_000)).toBe(5_000);
});

test("checks that are due more often than that are no reason to wait", () => {
  const limits = new RunLimits(1_000);
  for (let second = 0; second < 200; second++) expect(limits.take("a/checked", second * 1_000)).toBeUndefined();
});
