// Who we are to the API server, and whom we trust: tokens and certificates that expire and are renewed.
import type { Clock } from "../../clock.ts";
import type { TextSource } from "./text-source.ts";

/** What TLS needs that may change while the process runs. All PEM. */
export interface TlsMaterial {
  /** Certificates to trust; absent for the machine's own. */
  readonly ca?: string;
  /** Client certificate chain and its key: both or neither. */
  readonly cert?: string;
  readonly key?: string;
}

/** What one request is sent with. */
interface Authorization {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly tls: TlsMaterial;
}

/** A way to log in. Implementations cache: `authorize` is called up to ten times a second. */
export interface Credentials {
  /** The current headers and TLS material. Rejects with `CredentialError` if they cannot be had. */
  authorize(): Promise<Authorization>;
  /** Called after the server answered 401. Resolves to true if the next `authorize` may give something else than the last one gave. */
  refresh(): Promise<boolean>;
}

/** Credentials could not be read, fetched or renewed. Never carries a token or key. */
export class CredentialError extends Error {
  readonly code = "Credential";
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CredentialError";
  }
}

/** Credentials that never change. */
export function fixedCredentials(authorization: Partial<Authorization> = {}): Credentials {
  const fixed: Authorization = { headers: authorization.headers ?? {}, tls: authorization.tls ?? {} };
  return { authorize: () => Promise.resolve(fixed), refresh: () => Promise.resolve(false) };
}

/** What the name and the password of a URL are to be sent as; undefined if it has neither. */
export function basicAuthorization({ username, password }: Pick<URL, "username" | "password">): string | undefined {
  if (username === "" && password === "") return undefined;
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString("base64")}`;
}

/** As it was meant: a `%` that begins nothing was not encoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// One log-in shared by all requests: however many of them meet a 401 at once, the credentials are refreshed once.

/** Refreshes that follow each other closer than this are a storm: the 401 in between goes to the caller. */
const minRefreshIntervalMs = 10_000;
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
    if (this.#clock.monotonic() - this.#lastRefreshMs < minRefreshIntervalMs) return Promise.resolve(false);
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

// The part of credentials that identifies a user, apart from certificates in files: tokens, passwords, and what plugins bring.

/** What a login adds to a request. */
interface LoginResult {
  readonly headers: Authorization["headers"];
  /** A client certificate, where the login brings one. */
  readonly tls: Pick<TlsMaterial, "cert" | "key">;
}

/** A way to identify the user. */
export interface Login {
  /** Rejects with `CredentialError` if it cannot be had. */
  current(): Promise<LoginResult>;
  /** After a 401: resolves to true if the next `current` may differ. */
  refresh(): Promise<boolean>;
}

/** Nothing but, perhaps, a client certificate from elsewhere. */
export const anonymousLogin: Login = {
  current: () => Promise.resolve({ headers: {}, tls: {} }),
  refresh: () => Promise.resolve(false),
};

/** A bearer token, fixed or in a file. */
export function tokenLogin(token: TextSource): Login {
  return {
    current: async () => ({ headers: bearer((await token.read()).trim()), tls: {} }),
    refresh: () => token.reread(),
  };
}

/** HTTP basic authentication. */
export function basicLogin(username: string, password: string): Login {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  return { current: () => Promise.resolve({ headers: { authorization }, tls: {} }), refresh: () => Promise.resolve(false) };
}

/** The header of a bearer token. Throws `CredentialError` for one that cannot stand in a header, such as a file of another kind. */
export function bearer(token: string): Authorization["headers"] {
  if (!/^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(token)) throw new CredentialError("the token is empty or holds characters that no token has");
  return { authorization: `Bearer ${token}` };
}

// A login that has to be fetched from somewhere and runs out: fetched when needed, once for all who wait.

/** What a fetch brought. `expiresMs` is wall-clock time; absent if the result is good until the server rejects it. */
export interface FetchedLogin extends LoginResult {
  readonly expiresMs?: number;
}

/** Renewed this long before it runs out, but no more than a tenth of its life, so that short-lived ones are not fetched for every request. */
const maxEarlinessMs = 30_000;

/** Keeps what `fetch` brings until shortly before it expires or the server rejects it. `initial` is used before any fetch. */
export function expiringLogin(fetch: () => Promise<FetchedLogin>, clock: Clock, initial?: FetchedLogin): Login {
  const held = (login: FetchedLogin): { readonly login: FetchedLogin; readonly renewMs: number } => {
    const lifeMs = (login.expiresMs ?? Infinity) - clock.now();
    return { login, renewMs: (login.expiresMs ?? Infinity) - Math.min(maxEarlinessMs, Math.max(0, lifeMs) / 10 || 0) };
  };
  let current = initial && held(initial);
  let fetching: Promise<FetchedLogin> | undefined;

  const renew = (): Promise<FetchedLogin> => {
    fetching ??= fetch()
      .then((login) => {
        current = held(login);
        return login;
      })
      .finally(() => (fetching = undefined));
    return fetching;
  };
  return {
    async current() {
      return current && clock.now() < current.renewMs ? current.login : renew();
    },
    async refresh() {
      await renew();
      return true;
    },
  };
}
