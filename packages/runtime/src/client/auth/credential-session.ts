// One log-in shared by all requests: however many of them meet a 401 at once, the credentials are refreshed once.
import type { Clock } from "../../clock.ts";
import type { Authorization, Credentials } from "./credentials.ts";

/** Refreshes that follow each other closer than this are a storm: the 401 in between goes to the caller. */
const shortestRefreshIntervalMs = 10_000;

/** An authorization, and which generation of the credentials it is of. */
export interface IssuedAuthorization extends Authorization {
  readonly generation: number;
}

/** Hands out authorizations and decides what a 401 leads to. */
export class CredentialSession {
  readonly #credentials: Credentials;
  readonly #clock: Clock;
  #generation = 0;
  #lastRefreshMs = -Infinity;
  #refreshing: Promise<boolean> | undefined;

  constructor(credentials: Credentials, clock: Clock) {
    this.#credentials = credentials;
    this.#clock = clock;
  }

  async authorize(): Promise<IssuedAuthorization> {
    const generation = this.#generation;
    const { headers, tls } = await this.#credentials.authorize();
    return { headers, tls, generation };
  }

  /**
   * To be called when a request sent with `rejected` met a 401. Resolves to true if trying once more makes sense: somebody has refreshed
   * since, or a refresh, shared by all who ask meanwhile, brought something new.
   */
  renew(rejected: IssuedAuthorization): Promise<boolean> {
    if (rejected.generation < this.#generation) return Promise.resolve(true);
    if (this.#refreshing) return this.#refreshing;
    if (this.#clock.monotonic() - this.#lastRefreshMs < shortestRefreshIntervalMs) return Promise.resolve(false);
    this.#refreshing = this.#refresh().finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  async #refresh(): Promise<boolean> {
    try {
      const changed = await this.#credentials.refresh();
      if (changed) this.#generation++;
      return changed;
    } finally {
      this.#lastRefreshMs = this.#clock.monotonic();
    }
  }
}
