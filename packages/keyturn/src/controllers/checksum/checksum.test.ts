// The two sets of ids that are published with their checksums, and what follows from them.
import { describe, expect, test } from "vitest";
import { checksumOf, checksumOfSorted } from "./checksum.ts";
import vectors from "./checksum.vectors.json" with { type: "json" };

describe.each(Object.entries(vectors))("the published %s checksum", (_kind, { ids, checksum }) => {
  test("is that of its ids as they are listed", () => {
    expect(checksumOfSorted(ids)).toBe(checksum);
  });

  test("does not depend on the order in which they come", () => {
    expect(checksumOf(ids.toReversed())).toBe(checksum);
  });

  test("is of ids in the order of bytes, not of numbers", () => {
    const byNumber = ids.toSorted((left, right) => Number.parseInt(left, 10) - Number.parseInt(right, 10));
    expect(byNumber).not.toEqual(ids);
    expect(checksumOfSorted(byNumber)).not.toBe(checksum);
  });
});

test("the checksum of no ids is that of the empty text", () => {
  expect(checksumOf([])).toBe("d41d8cd98f00b204e9800998ecf8427e");
});
