// What two processes keep replacing: how long each waits before it writes the very same again.
import { expect, test } from "vitest";
import { RepeatBackoff } from "./backoff.ts";

test("the very same is written again at once, and then ever more seldom; anything else, and what was long undisputed, at once", () => {
  let nowMs = 0;
  const repeats = new RepeatBackoff({ monotonic: () => nowMs }, () => 1);
  const waits = Array.from({ length: 8 }, () => {
    const waitMs = repeats.waitMs("a", "one");
    nowMs += waitMs;
    repeats.written("a", "one");
    return waitMs;
  });
  expect(waits).toEqual([0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000]);
  expect(repeats.waitMs("a", "one")).toBe(30_000);
  expect([repeats.waitMs("a", "two"), repeats.waitMs("b", "one")]).toEqual([0, 0]);
  nowMs += 30_000 + 60_000;
  repeats.written("a", "one");
  expect(repeats.waitMs("a", "one")).toBe(0);
});
