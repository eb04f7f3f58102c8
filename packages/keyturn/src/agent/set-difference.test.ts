// Which Secrets differ from a checksum, with their names.
import { expect, test } from "vitest";
import { differenceInWords, setDifference } from "./set-difference.ts";

const nobody = new Map<string, string>();

test("both directions, and what has changed, in the order of numbers", () => {
  const live = new Map([
    ["web-10", "10-1-aa"],
    ["web-9", "9-2-bb"],
    ["web-1", "1-1-cc"],
  ]);
  const differences = setDifference({
    live,
    leftOut: nobody,
    published: ["1-1-cc", "9-1-bb", "11-1-dd"],
    knownNames: new Map([["11-1-dd", "web-11"]]),
  });
  expect(differences.map(differenceInWords)).toEqual([
    "web-9 is 9-2-bb and should be 9-1-bb",
    "web-10 (10-1-aa) is not in the checksum",
    "web-11 (11-1-dd) is missing",
  ]);
});

test("a Secret that is there and does not count is named with the reason", () => {
  const differences = setDifference({ live: nobody, leftOut: new Map([["web-007", "KeyMismatch"]]), published: ["7-1-aa"], knownNames: nobody });
  expect(differences.map(differenceInWords)).toEqual(["web-007 (7-1-aa) is there and does not count: KeyMismatch"]);
});

test("Secrets with the same id are each named once", () => {
  const live = new Map([
    ["a-7", "7-1-aa"],
    ["b-07", "7-1-aa"],
  ]);
  const names = setDifference({ live, leftOut: nobody, published: [], knownNames: nobody }).map(({ secret }) => secret);
  expect(new Set(names)).toEqual(new Set(["a-7", "b-07"]));
});

test("a negative version does not confuse anybody", () => {
  const differences = setDifference({ live: new Map([["a-7", "7--1-aa"]]), leftOut: nobody, published: ["7-2-aa"], knownNames: nobody });
  expect(differences).toEqual([{ direction: "changed", secret: "a-7", live: "7--1-aa", published: "7-2-aa" }]);
});
