// How long a failing key waits: longer each time, never all at once, and from the start again after a success.
import type { Clock } from "../clock.ts";
import { LruMap } from "../collections.ts";
import type { Random } from "../random.ts";

/** The delays of one backoff. */
export interface BackoffOptions {
  /** The longest the first delay can be. */
  readonly firstMs: number;
  /** The longest any delay can be. */
  readonly maxMs: number;
  /** The share of a delay that is left to chance, so that keys that failed together do not come back together. Default 0.5; 0 for exact delays. */
  readonly spread?: number;
}

/** Twenty milliseconds at first and five minutes at most: an API server's hiccup is bridged at once, a lasting fault costs little. */
export const defaultBackoff: BackoffOptions = { firstMs: 20, maxMs: 300_000 };

/** The delay before try number `failures + 1`: `firstMs · 2^(failures - 1)`, no more than `maxMs`, less a random part of its `spread`. */
export function backoffDelayMs(failures: number, { firstMs, maxMs, spread = 0.5 }: BackoffOptions, random: Random): number {
  const wholeMs = Math.min(firstMs * 2 ** Math.max(0, failures - 1), maxMs);
  return wholeMs * (1 - spread * (1 - random()));
}

/** Of a failing key that changes again and again: every change may mend it, so that none waits for longer than people notice. */
const changeBackoff: BackoffOptions = { firstMs: 20, maxMs: 1_000 };

/** How a key has failed. */
interface FailedKey {
  readonly count: number;
  readonly dueMs: number;
  /** How often since then a change has brought it early, and it failed again; and until when the next change waits. */
  readonly early: number;
  readonly changesWaitUntilMs: number;
}

/** Counts failures in a row per key. Holds nothing for keys that have not failed. */
export class KeyBackoff {
  readonly #failures = new Map<string, FailedKey>();
  readonly #options: BackoffOptions;
  readonly #random: Random;

  constructor(options: BackoffOptions, random: Random) {
    this.#options = options;
    this.#random = random;
  }

  /** How often the key has failed in a row. */
  failures(key: string): number {
    return this.#failures.get(key)?.count ?? 0;
  }

  /**
   * Counts a failure and returns how long to wait before the next try: `minMs` at least, and up to a tenth more, so that keys that were asked for the
   * same time come back one by one.
   */
  fail(key: string, minMs = 0): number {
    const count = this.failures(key) + 1;
    this.#failures.set(key, { count, dueMs: Number.NEGATIVE_INFINITY, early: 0, changesWaitUntilMs: Number.NEGATIVE_INFINITY });
    const delayMs = backoffDelayMs(count, this.#options, this.#random);
    return minMs > delayMs ? minMs * (1 + 0.1 * this.#random()) : delayMs;
  }

  /** Remembers when a failed key is due. */
  due(key: string, dueMs: number): void {
    const { early = 0, changesWaitUntilMs = Number.NEGATIVE_INFINITY } = this.#failures.get(key) ?? {};
    this.#failures.set(key, { count: this.failures(key), dueMs, early, changesWaitUntilMs });
  }

  /** A change has brought the key before it was due, and it failed again: the next change waits, ever longer, until the key is due. */
  failedEarly(key: string, nowMs: number): void {
    const failed = this.#failures.get(key);
    if (!failed) return;
    const early = failed.early + 1;
    this.#failures.set(key, { ...failed, early, changesWaitUntilMs: nowMs + backoffDelayMs(early, changeBackoff, this.#random) });
  }

  /** How long a change of the key waits before it brings a run; 0 for not at all. */
  changeWaitsMs(key: string, nowMs: number): number {
    return Math.max(0, (this.#failures.get(key)?.changesWaitUntilMs ?? nowMs) - nowMs);
  }

  /**
   * How long is left of a wait that a change has cut short; undefined if the key was due. A failure before that is no further one: our own report of a
   * failure is a change of the object too, and would double the backoff.
   */
  leftMs(key: string, nowMs: number): number | undefined {
    const leftMs = (this.#failures.get(key)?.dueMs ?? nowMs) - nowMs;
    return leftMs > 0 ? leftMs : undefined;
  }

  /** The key has succeeded: its next failure is a first one. */
  forget(key: string): void {
    this.#failures.delete(key);
  }
}

/** Both of two that replace each other's writes write at once what they know, and then ever more seldom, so that a failure still shows within a minute. */
const repeatBackoff: BackoffOptions = { firstMs: 1_000, maxMs: 30_000 };
/** What stood for so long was not disputed. */
const undisputedMs = 60_000;
/** As many as are likely to be disputed at once. */
const maxRepeats = 4096;

/** What was last written of a subject, and how often the very same had to be written again because somebody had replaced it: another leader that sees something else. */
export class RepeatBackoff {
  readonly #written = new LruMap<string, { readonly text: string; readonly count: number; readonly untilMs: number }>(maxRepeats);
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #random: Random;

  constructor(clock: Pick<Clock, "monotonic">, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** How long writing this has to wait. */
  waitMs(subject: string, text: string): number {
    const written = this.#written.get(subject);
    return written?.text === text ? Math.max(0, written.untilMs - this.#clock.monotonic()) : 0;
  }

  written(subject: string, text: string): void {
    const before = this.#written.get(subject);
    const nowMs = this.#clock.monotonic();
    const count = before?.text === text && nowMs < before.untilMs + undisputedMs ? before.count + 1 : 0;
    this.#written.set(subject, { text, count, untilMs: count === 0 ? nowMs : nowMs + backoffDelayMs(count, repeatBackoff, this.#random) });
  }
}
