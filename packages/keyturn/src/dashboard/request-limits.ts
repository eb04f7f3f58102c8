// How often one client may ask, and how often it may be wrong about who it is.
import type { TokenRate } from "@keyturn/runtime";

/** The rates, by client. Behind one address there may be many people, so the first is generous; nobody guesses a token by the second. */
export interface RequestRates {
  readonly requests: TokenRate;
  readonly failures: TokenRate;
}

/** 100 a second, and one in five seconds. */
export const usualRates: RequestRates = { requests: { burst: 1000, perMs: 0.1 }, failures: { burst: 10, perMs: 0.0002 } };

// A request that is refused: the way out of whatever found a reason for it.

/** How it is answered and counted. */
interface Refused {
  readonly status: 400 | 401 | 403 | 404 | 405 | 413 | 421 | 429 | 503;
  /** Sent to whoever asked. */
  readonly error: string;
  /** Under which it is counted; absent for what is only a mistake. */
  readonly reason?: "token" | "rights" | "rate" | "host" | "full" | "unavailable";
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown by what answers requests; whoever called it answers so. */
export class RefusedRequest extends Error {
  readonly refused: Refused;
  constructor(refused: Refused) {
    super(refused.error);
    this.name = "RefusedRequest";
    this.refused = refused;
  }
}

/** Refuses for now. */
export function refusedForNow(
  status: 429 | 503,
  reason: Refused["reason"] & string,
  options: { readonly error: string; readonly retryAfterSeconds: number },
): RefusedRequest {
  return new RefusedRequest({ status, reason, error: options.error, headers: { "retry-after": String(options.retryAfterSeconds) } });
}
