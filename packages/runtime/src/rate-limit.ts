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
