// Workers are taken, and others get their turn, by number and by time.
import { expect, it } from "vitest";
import type { Clock } from "../clock.ts";
import { WorkerSlots } from "./worker-slots.ts";

/** A clock that moves only by hand, and the timers that were set on it. */
class HandClock implements Clock {
  nowMs = 0;
  readonly timers: (() => void)[] = [];

  now(): number {
    return this.nowMs;
  }

  monotonic(): number {
    return this.nowMs;
  }

  setTimer(_delayMs: number, fire: () => void): { cancel(): void } {
    this.timers.push(fire);
    return { cancel: () => {} };
  }

  /** Begins the next turn of the event loop. */
  turn(): void {
    for (const fire of this.timers.splice(0)) fire();
  }
}

/** Work of which each piece takes this long and is over at once; it counts how much was begun. */
function startWork(clock: HandClock, pieceMs: number): { started: number } {
  const slots = new WorkerSlots(4, clock);
  const work = { started: 0 };
  slots.join(() => {
    work.started++;
    clock.nowMs += pieceMs;
    queueMicrotask(() => slots.release());
    return true;
  });
  slots.wake();
  return work;
}

/** All microtasks run before this one. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it.each([
  { pieceMs: 0, atLeast: 64, atMost: 64 },
  { pieceMs: 0.5, atLeast: 4, atMost: 10 },
  { pieceMs: 20, atLeast: 1, atMost: 2 },
])("pieces of $pieceMs ms do not all run in one turn of the event loop", async ({ pieceMs, atLeast, atMost }) => {
  const clock = new HandClock();
  const work = startWork(clock, pieceMs);
  for (let turn = 1; turn < 4; turn++) {
    await settled();
    expect(work.started).toBeGreaterThanOrEqual(turn * atLeast);
    expect(work.started).toBeLessThanOrEqual(turn * atMost);
    clock.turn();
  }
});
