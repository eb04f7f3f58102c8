// Tests of the virtual clock: order, nesting, cancelling, the wall clock's own jumps, and thousands of timers.
import { describe, expect, test } from "vitest";
import { sleep } from "../clock.ts";
import { VirtualClock } from "./virtual-clock.ts";

describe("VirtualClock", () => {
  test("fires by due time and then by creation, and lets promises settle in between", async () => {
    const clock = new VirtualClock();
    const seen: string[] = [];
    clock.setTimer(20, () => seen.push("b at 20"));
    clock.setTimer(10, () => {
      seen.push("a at 10");
      void Promise.resolve().then(() => seen.push("reaction to a"));
    });
    clock.setTimer(20, () => seen.push("c at 20"));
    await clock.advance(20);
    expect(seen).toEqual(["a at 10", "reaction to a", "b at 20", "c at 20"]);
    expect(clock.monotonic()).toBe(20);
  });

  test("fires timers that are set while time passes, at their own time", async () => {
    const clock = new VirtualClock(1_000);
    const seen: number[] = [];
    void (async () => {
      for (;;) {
        await sleep(clock, 3);
        seen.push(clock.now());
      }
    })();
    await clock.advance(10);
    expect(seen).toEqual([1_003, 1_006, 1_009]);
    expect(clock.nextTimerInMs).toBe(2);
  });

  test("does not fire what was cancelled, and stands at the timer that threw", async () => {
    const clock = new VirtualClock();
    clock.setTimer(1, () => expect.unreachable()).cancel();
    clock.setTimer(5, () => {
      throw new Error("boom");
    });
    await expect(clock.advance(100)).rejects.toThrow("boom");
    expect(clock.monotonic()).toBe(5);
    await clock.advance(1);
    expect(clock.monotonic()).toBe(6);
    expect(clock.nextTimerInMs).toBeUndefined();
  });

  test("moves the wall clock alone when asked to", async () => {
    const clock = new VirtualClock(0);
    clock.jumpWall(-500);
    await clock.advance(100);
    expect([clock.now(), clock.monotonic()]).toEqual([-400, 100]);
  });

  test("holds a hundred thousand timers, most of them cancelled", async () => {
    const clock = new VirtualClock();
    let fired = 0;
    for (let index = 0; index < 100_000; index += 1) {
      const timer = clock.setTimer(index % 977, () => (fired += 1));
      if (index % 100 !== 0) timer.cancel();
    }
    await clock.advance(1_000);
    expect(fired).toBe(1_000);
  });
});
