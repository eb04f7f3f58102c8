import { expect, test } from "vitest";
import { earliest } from "./clock.ts";

test("the earliest time that there is", () => {
  expect(earliest([undefined, 3, 1, 2])).toBe(1);
  expect(earliest([0, undefined])).toBe(0);
  expect(earliest([undefined])).toBeUndefined();
  expect(earliest([])).toBeUndefined();
});
