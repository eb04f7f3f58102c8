// Limits how often something may happen: a burst, and then at a steady rate.

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
