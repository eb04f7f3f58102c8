// Comparing resourceVersions: whole numbers of any length, or not at all.
import { expect, it } from "vitest";
import { compareResourceVersions } from "./resource-version.ts";

it.each([
  ["9", "10", -1],
  ["10", "9", 1],
  ["7", "7", 0],
  ["007", "7", 0],
  ["18446744073709551616", "18446744073709551615", 1],
  ["abc", "abc", 0],
  ["abc", "7", undefined],
  ["7", "-7", undefined],
  ["", "7", undefined],
])("compares %j with %j as %j", (left, right, expected) => expect(compareResourceVersions(left, right)).toBe(expected));
