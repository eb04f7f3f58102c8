// How long a watch waits, for what, and how much it takes from a server.
import { runtimeLimits } from "../limits.ts";

/** The times and sizes that govern a watch. Every field has a default, in `defaultWatchLimits`. */
export interface WatchLimits {
  /** A WatchList that shows nothing new for this long before its end bookmark, or a page that stands still, is given up. */
  readonly listStallMs: number;
  /** A watch without a byte for this long is dead: bookmarks come about every minute. */
  readonly quietMs: number;
  /** A stream that lived this long was a success: the next one opens at once and failures are forgotten. */
  readonly stableMs: number;
  /** Backoff: the first delay, doubled with each failure up to the longest; half of each delay is random. client-go's reflector has the same two ends. */
  readonly firstBackoffMs: number;
  /** A watch that was refused because the server is busy, and has to wait longer than this, begins with a list. Default 2,000. */
  readonly resumeWithinMs: number;
  readonly maxBackoffMs: number;
  /** The longest delay while the kind is not served: a CRD that is installed should be noticed soon. */
  readonly maxMissingMs: number;
  /** The longest that a server's `Retry-After` is obeyed. */
  readonly maxRetryAfterMs: number;
  /** Objects per page of a list. Fewer are asked for when a page is too long. */
  readonly pageSize: number;
  /** The longest event of a watch, a line or a frame, before it counts as an attack: far above the few MiB that an API server stores of an object. */
  readonly maxEventBytes: number;
  /** The longest page. */
  readonly maxBodyBytes: number;
  /** The server is asked to end each watch after a random time between these. */
  readonly minWatchSeconds: number;
  readonly maxWatchSeconds: number;
}

export const defaultWatchLimits: WatchLimits = {
  listStallMs: 30_000,
  quietMs: 150_000,
  stableMs: 10_000,
  firstBackoffMs: 800,
  resumeWithinMs: 2_000,
  maxBackoffMs: 30_000,
  maxMissingMs: 5_000,
  maxRetryAfterMs: 300_000,
  pageSize: 500,
  maxEventBytes: runtimeLimits.watchEventBytes,
  maxBodyBytes: runtimeLimits.answerBodyBytes,
  minWatchSeconds: 300,
  maxWatchSeconds: 600,
};
