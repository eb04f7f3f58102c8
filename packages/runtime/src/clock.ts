// Time as a parameter: everything that waits or dates something takes a Clock, so that tests run in virtual time. Also the turns of the event loop that long work takes.

/** A pending timer; cancelling one that has fired does nothing. */
export interface Timer {
  cancel(): void;
}

/** The only source of time in the runtime. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. May jump in either direction; use it for dates that people or other processes read. */
  now(): number;
  /** Milliseconds since an arbitrary start. Never runs backwards; use it to measure how long something took or is still to take. */
  monotonic(): number;
  /** Calls `fire` once, after at least `delayMs` on the monotonic scale. Real timers do not keep the process alive. */
  setTimer(delayMs: number, fire: () => void): Timer;
}

/** `setTimeout` turns a longer delay into 1 ms, so longer waits are made of several. */
const maxNodeTimerMs = 2 ** 31 - 1;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, fire) {
    let remainingMs = Math.max(0, delayMs);
    let timeout: NodeJS.Timeout;
    const arm = (): void => {
      const sliceMs = Math.min(remainingMs, maxNodeTimerMs);
      remainingMs -= sliceMs;
      timeout = setTimeout(() => (remainingMs > 0 ? arm() : fire()), sliceMs);
      timeout.unref();
    };
    arm();
    return { cancel: () => clearTimeout(timeout) };
  },
};

/** Resolves after `delayMs`; rejects with the signal's reason when `signal` aborts first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** The earliest of the times that there are; undefined if there is none. */
export function earliest(timesMs: readonly (number | undefined)[]): number | undefined {
  const known = timesMs.filter((timeMs) => timeMs !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

// Keeps long work from holding the event loop.

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
