// The part of credentials that identifies a user, apart from certificates in files: tokens, passwords, and what plugins bring.
import { CredentialError, type Authorization, type TlsMaterial } from "./credentials.ts";
import type { TextSource } from "./text-source.ts";

/** What a login adds to a request. */
export interface LoginResult {
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
