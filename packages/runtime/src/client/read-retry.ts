// Trying a read again after failures that pass.
import { sleep, type Clock } from "../clock.ts";
import type { Random } from "../random.ts";
import { isApiError } from "./api-error.ts";
import { ConnectionError } from "./transport.ts";

/** What waiting is done with. */
export interface ReadRetryOptions {
  readonly clock: Clock;
  readonly random: Random;
}

const mostRetries = 5;
const firstDelayMs = 100;
const longestDelayMs = 5_000;
/** A server that asks for more than this is left to the caller's own backoff. */
const longestRetryAfterMs = 30_000;

/** Calls `read` until it succeeds, fails for good, or has been retried five times. Waits longer each time, with jitter, or as long as the server asks. */
export async function retryRead<T>(read: () => Promise<T>, { clock, random }: ReadRetryOptions, signal?: AbortSignal): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await read();
    } catch (error) {
      const delayMs = retryDelay(error, retries, random);
      if (retries >= mostRetries || delayMs === undefined) throw error;
      await sleep(clock, delayMs, signal);
    }
  }
}

function retryDelay(error: unknown, retries: number, random: Random): number | undefined {
  const passes = error instanceof ConnectionError || isApiError(error, "TooManyRequests", "ServerError");
  if (!passes) return undefined;
  // Between half and the whole of the step, so that many clients do not come back together.
  const backoffMs = Math.min(longestDelayMs, firstDelayMs * 2 ** retries) * (0.5 + random() / 2);
  const askedMs = isApiError(error) ? error.retryAfterMs : undefined;
  if (askedMs === undefined) return backoffMs;
  return askedMs > longestRetryAfterMs ? undefined : askedMs + backoffMs;
}
