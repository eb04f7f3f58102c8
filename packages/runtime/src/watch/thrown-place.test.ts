// What is logged of an error whose words may be a Secret's.
import { expect, it } from "vitest";
import { thrownPlace } from "./thrown-place.ts";

it("tells the frames and nothing of the message, even if that looks like frames", () => {
  const { error, frames } = thrownPlace(new TypeError("secret\n    at secret (secret:1:1)"));
  expect(error).toBe("TypeError");
  expect(frames[0]).toMatch(/^at .*thrown-place\.test\.ts/);
  expect(JSON.stringify(frames)).not.toContain("secret:1:1");
});

it("finds the frames in a stack with a million empty lines", () => {
  const error = new Error("short");
  error.stack = `Error: ${"\n".repeat(1_000_000)}x\n    at somewhere (file.ts:1:1)`;
  expect(thrownPlace(error).frames).toEqual(["at somewhere (file.ts:1:1)"]);
});
