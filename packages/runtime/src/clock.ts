// Time as a parameter: everything that waits or dates something takes a Clock, so that tests run in virtual time.

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
