// Turns whatever a reconcile threw into one of the three ways a run can fail.
import { ApiError } from "../client/api-error.ts";
import { ConnectionError } from "../client/transport.ts";
import { TerminalError, TransientError, WaitingError } from "./errors.ts";
import { missingRight } from "./missing-right.ts";
import { describeUnexpected } from "./unexpected-error.ts";
import type { UnexpectedError } from "./unexpected-error.ts";

/** A failed run: what the user sees, and when it is tried again. */
export interface Failure {
  readonly code: "Transient" | "Terminal" | "Waiting";
  readonly reason: string;
  readonly message: string;
  /** Exactly then, instead of the backoff. */
  readonly retryAfterMs: number | undefined;
  /** What the API server asks to wait, beside the backoff. */
  readonly serverAskedMs?: number | undefined;
  /** For the log, when nobody foresaw the error. */
  readonly unexpected?: UnexpectedError;
}

/** Classifies what was thrown. Errors that are none of the runtime's own count as transient with the reason `InternalError`, and their message is withheld. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof TransientError || thrown instanceof WaitingError) {
    const { code, reason, message, retryAfterMs } = thrown;
    return { code, reason, message, retryAfterMs };
  }
  if (thrown instanceof TerminalError) return { code: "Terminal", reason: thrown.reason, message: thrown.message, retryAfterMs: undefined };
  if (thrown instanceof ApiError) return apiFailure(thrown);
  if (thrown instanceof ConnectionError)
    return { code: "Transient", reason: "ApiServerUnreachable", message: thrown.message, retryAfterMs: undefined };
  const unexpected = describeUnexpected(thrown);
  const message = `an unexpected error stopped this run (${unexpected.name}); the operator's log says where`;
  return { code: "Transient", reason: "InternalError", message, retryAfterMs: undefined, unexpected };
}

/** The run was cut at its deadline, whatever it threw on the way. */
export function deadlineFailure(deadlineMs: number): Failure {
  const message = `the run took longer than ${deadlineMs / 1000} s and was cut; it will be tried again`;
  return { code: "Transient", reason: "DeadlineExceeded", message, retryAfterMs: undefined };
}

function apiFailure(error: ApiError): Failure {
  const { code, message, retryAfterMs } = error;
  // The server will refuse the same object again; only another input makes another object.
  if (code === "Invalid" || code === "BadRequest") return { code: "Terminal", reason: code, message, retryAfterMs: undefined };
  const right = code === "Forbidden" ? missingRight(error) : undefined;
  return {
    code: "Transient",
    reason: code === "Unexpected" ? "UnexpectedAnswer" : code,
    message: right ? `the operator lacks the right to ${right}; grant it and this goes on by itself` : message,
    retryAfterMs: undefined,
    serverAskedMs: retryAfterMs,
  };
}
