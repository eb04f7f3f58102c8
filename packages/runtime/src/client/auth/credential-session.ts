// One log-in shared by all requests: however many of them meet a 401 at once, the credentials are refreshed once.
import type { Clock } from "../../clock.ts";
import type { Authorization, Credentials } from "./credentials.ts";

/** Refreshes that follow each other closer than this are a storm: the 401 in between goes to the caller. */
const shortestRefreshIntervalMs = 10_000;
/** For so long an authorization serves without asking for it again, which takes several turns of promises; files are looked at far less often anyway. */
const freshMs = 100;

/** An authorization, and which generation of the credentials it is of. */
export interface IssuedAuthorization extends Authorization {
  readonly generation: number;
}

/** Hands out authorizations and decides what a 401 leads to. */
export class CredentialSession {
  readonly #credentials: Credentials;
  readonly #clock: Clock;
  #generation = 0;
  #issued: IssuedAuthorization | undefined;
  #issuedMs = -Infinity;
  #lastRefreshMs = -Infinity;
  #refreshing: Promise<boolean> | undefined;

  constructor(credentials: Credentials, clock: Clock) {
    this.#credentials = credentials;
    this.#clock = clock;
  }

  /** The current authorization: at once if it was asked for a moment ago. */
  authorize(): IssuedAuthorization | Promise<IssuedAuthorization> {
    const issued = this.#issued;
    const fresh = issued?.generation === this.#generation && this.#clock.monotonic() - this.#issuedMs < freshMs;
    return fresh ? issued : this.#issue();
  }

  async #issue(): Promise<IssuedAuthorization> {
    const generation = this.#generation;
    const { headers, tls } = await this.#credentials.authorize();
    this.#issuedMs = this.#clock.monotonic();
    this.#issued = { headers, tls, generation };
    return this.#issued;
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
