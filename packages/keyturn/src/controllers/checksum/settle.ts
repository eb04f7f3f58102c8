// When a burst of changes is over.

/** A burst: its first and its latest change, on a clock that never runs backwards. */
export interface Burst {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** A stream of changes that never pauses must not hold up a checksum for ever. */
const longestInSettles = 10;

/** The burst with one more change. */
export function withChange(burst: Burst | undefined, nowMs: number): Burst {
  return { firstMs: burst?.firstMs ?? nowMs, lastMs: nowMs };
}

/** When a burst may be published: after a quiet time, or when it has lasted ten times as long. */
export function settledAtMs({ firstMs, lastMs }: Burst, settleMs: number): number {
  return Math.min(lastMs + settleMs, firstMs + longestInSettles * settleMs);
}
