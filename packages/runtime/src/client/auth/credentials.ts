// Who we are to the API server, and whom we trust: the seam between the transport and the many ways to log in.

/** What TLS needs that may change while the process runs. All PEM. */
export interface TlsMaterial {
  /** Certificates to trust; absent for the machine's own. */
  readonly ca?: string;
  /** Client certificate chain and its key: both or neither. */
  readonly cert?: string;
  readonly key?: string;
}

/** What one request is sent with. */
export interface Authorization {
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
