// Limits how often something may happen: a burst, and then at a steady rate.
import type { Clock } from "./clock.ts";
import { LruMap } from "./collections.ts";

/** A bucket's state; plain data, so that thousands of them are cheap. */
export interface TokenBucket {
  readonly tokens: number;
  /** On the monotonic scale. */
  readonly atMs: number;
}

/** How much a bucket holds and how fast it fills. */
export interface TokenRate {
  readonly burst: number;
  readonly perMs: number;
}

/** A full bucket. */
export function fullBucket({ burst }: TokenRate, nowMs: number): TokenBucket {
  return { tokens: burst, atMs: nowMs };
}

/** The bucket after one token was taken, or undefined if there is none to take. */
export function takeToken(bucket: TokenBucket, { burst, perMs }: TokenRate, nowMs: number): TokenBucket | undefined {
  const tokens = Math.min(burst, bucket.tokens + Math.max(0, nowMs - bucket.atMs) * perMs);
  return tokens < 1 ? undefined : { tokens: tokens - 1, atMs: nowMs };
}

const maxClients = 10_000;

/** Counts by client; forgets those that were not seen for longest. */
export class RateByClient {
  readonly #rate: TokenRate;
  readonly #clock: Clock;
  readonly #buckets = new LruMap<string, TokenBucket>(maxClients);

  constructor(rate: TokenRate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
  }

  /** Takes one. True if there was one to take. */
  take(client: string): boolean {
    const bucket = this.#taken(client);
    if (bucket) this.#buckets.set(client, bucket);
    return bucket !== undefined;
  }

  /** True if there is one to take. */
  allows(client: string): boolean {
    return this.#taken(client) !== undefined;
  }

  /** After so long there is one again. */
  get retryAfterSeconds(): number {
    return Math.ceil(1 / (this.#rate.perMs * 1000));
  }

  #taken(client: string): TokenBucket | undefined {
    const nowMs = this.#clock.monotonic();
    return takeToken(this.#buckets.get(client) ?? fullBucket(this.#rate, nowMs), this.#rate, nowMs);
  }
}

/** Limits on the runs of one key that write something; 0 switches a limit off. */
export interface WriteLimits {
  /** From one to the next. */
  readonly minIntervalMs: number;
  /** In any 60 seconds. */
  readonly maxPerMinute: number;
}

const minuteMs = 60_000;

/**
 * When the next write may be. `earlier` are the times of those before, oldest first, on a clock that never runs backwards.
 * At or before `nowMs` means now; the first write never waits.
 */
export function nextWriteAt(earlier: readonly number[], { minIntervalMs, maxPerMinute }: WriteLimits, nowMs: number): number {
  const last = earlier.at(-1);
  const spaced = last === undefined ? nowMs : last + minIntervalMs;
  // With a full minute behind us, the write that fills it has to leave the window first.
  const filling = maxPerMinute > 0 ? earlier.at(-maxPerMinute) : undefined;
  return filling === undefined ? spaced : Math.max(spaced, filling + minuteMs);
}

/** The times worth remembering after a write at `nowMs`. */
export function rememberWrite(earlier: readonly number[], nowMs: number): readonly number[] {
  return [...earlier.filter((at) => at > nowMs - minuteMs), nowMs];
}
