// A request to an identity provider that did not do what it should, as a typed error that is safe to show.

/**
 * What can be done about it. `Transient`: nothing, it is tried again. `Terminal`: the same request gets the same answer until somebody changes
 * something; that may be a right at the provider, which nobody here can watch, so it is worth asking again now and then. `SecretLost`: the
 * provider keeps no readable copy of the secret and makes no new one, so only a new application helps.
 */
export type IdentityErrorCode = "Transient" | "Terminal" | "SecretLost";

/** What was being done; one word per request, also the label of metrics. */
export type IdentityStep =
  | "find"
  | "create"
  | "read"
  | "delete"
  | "issue-secret"
  | "list-secrets"
  | "delete-secret"
  | "discover"
  | "token"
  | "keep-grant";

/** What an identity error carries besides its message. */
export interface IdentityErrorOptions extends ErrorOptions {
  readonly code: IdentityErrorCode;
  readonly step: IdentityStep;
  /** The HTTP status, if there was an answer. */
  readonly status?: number;
  /** How long the provider asks to wait. */
  readonly retryAfterMs?: number;
}

/** The message says what was tried and what the provider said, without anything secret, in a length that fits a condition. */
export class IdentityError extends Error {
  readonly code: IdentityErrorCode;
  readonly step: IdentityStep;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { code, step, status, retryAfterMs, ...options }: IdentityErrorOptions) {
    super(message, options);
    this.name = "IdentityError";
    this.code = code;
    this.step = step;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}
