// The ways a reconcile can end without success. Which one it is decides what the user sees and when it is tried again.

/** What every outcome error carries. `reason` is PascalCase and goes into the condition, the Event and the metric. */
export interface OutcomeErrorOptions extends ErrorOptions {
  readonly reason: string;
}

/** Something outside failed and may recover: retried with backoff, or after `retryAfterMs` if given. */
export class TransientError extends Error {
  readonly code = "Transient";
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  constructor(message: string, options: OutcomeErrorOptions & { readonly retryAfterMs?: number }) {
    super(message, options);
    this.name = "TransientError";
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The input is wrong and only a change of it can help: reported, and not tried again until an input changes. */
export class TerminalError extends Error {
  readonly code = "Terminal";
  readonly reason: string;
  constructor(message: string, options: OutcomeErrorOptions) {
    super(message, options);
    this.name = "TerminalError";
    this.reason = options.reason;
  }
}

/** Not an error: something that must be there first is not there yet. Reported as such; a watch, or `retryAfterMs`, brings the next try. */
export class WaitingError extends Error {
  readonly code = "Waiting";
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  constructor(message: string, options: OutcomeErrorOptions & { readonly retryAfterMs?: number }) {
    super(message, options);
    this.name = "WaitingError";
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}
