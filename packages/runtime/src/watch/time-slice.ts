// Keeps long work from holding the event loop.
import type { Clock } from "../clock.ts";

/** Work pauses after this long; well below the 25 ms that the runtime promises, since one object more can take a while. */
const sliceMs = 5;

/** Measures how long the event loop has been held since the last pause. */
export class TimeSlice {
  readonly #clock: Clock;
  #startMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.monotonic();
  }

  /** True when it is time to `pause`. */
  get used(): boolean {
    return this.#clock.monotonic() - this.#startMs >= sliceMs;
  }

  /** Lets timers, sockets and others' work have their turn. */
  async pause(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#startMs = this.#clock.monotonic();
  }
}
