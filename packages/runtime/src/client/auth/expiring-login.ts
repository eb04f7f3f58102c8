// A login that has to be fetched from somewhere and runs out: fetched when needed, once for all who wait.
import type { Clock } from "../../clock.ts";
import type { Login, LoginResult } from "./login.ts";

/** What a fetch brought. `expiresMs` is wall-clock time; absent if the result is good until the server rejects it. */
export interface FetchedLogin extends LoginResult {
  readonly expiresMs?: number;
}

/** Renewed this long before it runs out, but no more than a tenth of its life, so that short-lived ones are not fetched for every request. */
const longestEarlinessMs = 30_000;

/** Keeps what `fetch` brings until shortly before it expires or the server rejects it. `initial` is used before any fetch. */
export function expiringLogin(fetch: () => Promise<FetchedLogin>, clock: Clock, initial?: FetchedLogin): Login {
  const held = (login: FetchedLogin): { readonly login: FetchedLogin; readonly renewMs: number } => {
    const lifeMs = (login.expiresMs ?? Infinity) - clock.now();
    return { login, renewMs: (login.expiresMs ?? Infinity) - Math.min(longestEarlinessMs, Math.max(0, lifeMs) / 10 || 0) };
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
