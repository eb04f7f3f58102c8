// When a burst is over.
import { expect, test } from "vitest";
import { type Burst, settledAtMs, withChange } from "./settle.ts";

test("a burst is over after a quiet time, and at the latest after ten times as long", () => {
  let burst: Burst | undefined;
  for (let nowMs = 0; nowMs <= 5000; nowMs += 500) burst = withChange(burst, nowMs);
  expect(burst && settledAtMs(burst, 2000)).toBe(7000);
  for (let nowMs = 5500; nowMs <= 60_000; nowMs += 500) burst = withChange(burst, nowMs);
  expect(burst && settledAtMs(burst, 2000)).toBe(20_000);
});

test("a single change waits for the quiet time alone; without one, nothing waits", () => {
  expect(settledAtMs(withChange(undefined, 100), 2000)).toBe(2100);
  expect(settledAtMs(withChange(undefined, 100), 0)).toBe(100);
});
