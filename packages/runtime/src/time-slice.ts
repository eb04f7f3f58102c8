// Keeps long work from holding the event loop.
import type { Clock } from "./clock.ts";

/** Long work pauses after this long; well below the 25 ms that the runtime promises, since one object more can take a while. */
const sliceMs = 5;

/**
 * The part of each turn of the event loop that long work may take: one for all who use the same clock. At the start of an operator many watches
 * receive their lists at the same time, and a slice for each would make one long turn of them.
 */
export class TimeSlice {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  /** When somebody began or looked first in this turn. */
  #startMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What is done from here on counts. */
  begin(): this {
    if (this.#startMs === undefined) {
      this.#startMs = this.#clock.monotonic();
      setImmediate(() => (this.#startMs = undefined));
    }
    return this;
  }

  /** True when it is time to `pause`. */
  get used(): boolean {
    const startMs = this.begin().#startMs ?? 0;
    return this.#clock.monotonic() - startMs >= sliceMs;
  }

  /** Lets timers, sockets and others' work have their turn. Whoever has waited longest goes on first. */
  pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      // What serves sockets is followed by the first of the two at once; only the second comes after timers, too.
      setImmediate(() => setImmediate(this.#letOneGoOn));
    });
  }

  readonly #letOneGoOn = (): void => {
    if (this.used) setImmediate(this.#letOneGoOn);
    else this.#waiting.shift()?.();
  };
}

const shared = new WeakMap<Clock, TimeSlice>();

/** The slice of everybody with this clock, begun. */
export function sharedTimeSlice(clock: Clock): TimeSlice {
  const slice = shared.get(clock) ?? new TimeSlice(clock);
  shared.set(clock, slice);
  return slice.begin();
}
