import { expect, test } from "vitest";
import { VirtualClock } from "@keyturn/runtime/testing";
import { Settling } from "./settling.ts";

test("a change is settled when no other has followed for a while, and in any case after ten times as long", async () => {
  const clock = new VirtualClock();
  const settling = new Settling(clock, 5000);
  expect(settling.settlesInMs(["a"])).toBe(0);
  settling.changed("a");
  expect([settling.settlesInMs(["a"]), settling.settlesInMs(["b"]), settling.settlesInMs(["b", "a"])]).toEqual([5000, 0, 5000]);
  for (let second = 0; second < 48; second += 4) {
    await clock.advance(4000);
    settling.changed("a");
  }
  expect(settling.settlesInMs(["a"])).toBe(2000);
  await clock.advance(2000);
  expect(settling.settlesInMs(["a"])).toBe(0);
  // What changes on and on is one change after the other.
  settling.changed("a");
  expect(settling.settlesInMs(["a"])).toBe(5000);
});
