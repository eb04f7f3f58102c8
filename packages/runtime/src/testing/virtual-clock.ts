// A clock that moves only when asked to, for tests that would otherwise wait.
import type { Clock, Timer } from "../clock.ts";
import { type HeapItem, IndexedHeap } from "../collections.ts";

interface PendingTimer extends HeapItem {
  readonly dueMs: number;
  readonly sequence: number;
  readonly fire: () => void;
}

/** A Clock in virtual time. Timers fire in order of due time, then of creation; between two, all settled promises run. */
export class VirtualClock implements Clock {
  #monotonicMs = 0;
  #wallOffsetMs: number;
  #sequence = 0;
  readonly #timers = new IndexedHeap<PendingTimer>((a, b) => (a.dueMs === b.dueMs ? a.sequence < b.sequence : a.dueMs < b.dueMs));

  /** `startMs` is the wall-clock time to begin at; default 2026-01-01T00:00:00Z. */
  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#wallOffsetMs = startMs;
  }

  now(): number {
    return this.#wallOffsetMs + this.#monotonicMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    const timer: PendingTimer = { dueMs: this.#monotonicMs + Math.max(0, delayMs), sequence: this.#sequence++, fire, position: -1 };
    this.#timers.push(timer);
    return {
      cancel: () => {
        if (this.#timers.has(timer)) this.#timers.remove(timer);
      },
    };
  }

  /** Moves the wall clock alone, as an administrator or NTP would. */
  jumpWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** How long until the next timer, or undefined if none is pending. */
  get nextTimerInMs(): number | undefined {
    const next = this.#timers.peek();
    return next && next.dueMs - this.#monotonicMs;
  }

  /**
   * Lets `byMs` pass: fires what falls due, in order, and lets everything that follows from it settle.
   * Rejects with what a timer throws; the clock then stands at that timer and can be advanced further.
   */
  async advance(byMs: number): Promise<void> {
    const endMs = this.#monotonicMs + byMs;
    await settle();
    for (let next = this.#timers.peek(); next && next.dueMs <= endMs; next = this.#timers.peek()) {
      this.#timers.pop();
      this.#monotonicMs = next.dueMs;
      next.fire();
      await settle();
    }
    this.#monotonicMs = endMs;
  }
}

/** Runs every promise reaction that is ready: a macrotask comes only after all microtasks. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
