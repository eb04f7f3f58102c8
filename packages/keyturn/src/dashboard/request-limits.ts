// How often one client may ask, and how often it may be wrong about who it is.
import { type Clock, fullBucket, LruMap, takeToken, type TokenBucket, type TokenRate } from "@keyturn/runtime";

/** The rates, by client. Behind one address there may be many people, so the first is generous; nobody guesses a token by the second. */
export interface RequestRates {
  readonly requests: TokenRate;
  readonly failures: TokenRate;
}

/** 100 a second, and one in five seconds. */
export const usualRates: RequestRates = { requests: { burst: 1000, perMs: 0.1 }, failures: { burst: 10, perMs: 0.0002 } };

const maxClients = 10_000;

/** Counts by client; forgets those that were not seen for longest. */
export class RequestLimit {
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
