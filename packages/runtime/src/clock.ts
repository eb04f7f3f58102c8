// Time as a parameter: everything that waits or dates something takes a Clock, so that tests run in virtual time. Also the turns of the event loop that long work takes, and lengths of time as people write them.

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

// Lengths of time in Go's notation (`1h30m`, `500ms`), which Kubernetes users write in manifests and flags.

const millisecondsPerUnit: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

const part = /(\d+(?:\.\d+)?|\.\d+)(ns|us|µs|ms|s|m|h)/gy;

/** The longest duration anywhere, 100 years: longer than anybody waits, and short enough that a date plus a duration is still a date that all can read (RFC 3339 ends with 9999). */
export const maxDurationMs = 876_000 * 3_600_000;

/** Reads a duration that is not negative and not beyond the longest, in milliseconds. Throws for anything else, saying what is wanted. */
export function parseDuration(text: string): number {
  const durationMs = readDuration(text);
  if (durationMs > maxDurationMs) throw new Error(`"${text}" is longer than ${formatDuration(maxDurationMs)} (100 years)`);
  return durationMs;
}

/** The same for what may have been stored before there was a longest: whatever is longer counts as that. */
export function parseStoredDuration(text: string): number {
  return Math.min(readDuration(text), maxDurationMs);
}

function readDuration(text: string): number {
  if (text === "0") return 0;
  if (text === "") throw notDuration(text);
  let totalMs = 0;
  part.lastIndex = 0;
  while (part.lastIndex < text.length) {
    const match = part.exec(text);
    const unitMs = millisecondsPerUnit[match?.[2] ?? ""];
    if (!match || unitMs === undefined) throw notDuration(text);
    totalMs += Number(match[1]) * unitMs;
  }
  return totalMs;
}

function notDuration(text: string): Error {
  return new Error(`"${text}" is not a duration such as 30s, 5m or 1h30m`);
}

/**
 * Throws a `RangeError` that names the first of `options` that is no number, or less than `min`. One that is undefined has a default. A time that is no
 * number would be over at once, and as a limit it would never be reached.
 */
export function checkNumbers(options: Readonly<Record<string, number | undefined>>, min = 1): void {
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && !(value >= min)) throw new RangeError(`${name} is ${value}, but must be a number of at least ${min}`);
  }
}

/** Writes milliseconds as Go would, without zero parts: `1h30m`, `1.5s`, `0s`. */
export function formatDuration(durationMs: number): string {
  const hours = Math.floor(durationMs / 3_600_000);
  const minutes = Math.floor((durationMs % 3_600_000) / 60_000);
  const seconds = (durationMs % 60_000) / 1000;
  const parts = [hours > 0 && `${hours}h`, minutes > 0 && `${minutes}m`, seconds > 0 && `${seconds}s`].filter((text) => text !== false);
  return parts.join("") || "0s";
}
