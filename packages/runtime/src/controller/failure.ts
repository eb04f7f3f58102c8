// The ways a reconcile can end without success. Which one it is decides what the user sees and when it is tried again.
import { ApiError, isApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import type { Kind, ObjectKey } from "../client/kind.ts";
import { AnswerTooLongError, ConnectionError } from "../client/transport.ts";
import { safeErrorSummary, type UnexpectedError } from "../observe/redaction.ts";
import type { BackoffOptions } from "../queue/backoff.ts";

/** What every outcome error carries. `reason` is PascalCase and goes into the condition, the Event and the metric. */
interface OutcomeErrorOptions extends ErrorOptions {
  readonly reason: string;
  /** Not before, whatever the backoff says; five minutes count at most. */
  readonly retryAfterMs?: number;
}

/** How a run ends without success, in words for users. */
abstract class OutcomeError extends Error {
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  constructor(message: string, options: OutcomeErrorOptions) {
    super(message, options);
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Something outside failed and may recover: retried with backoff. */
export class TransientError extends OutcomeError {
  override name = "TransientError";
  readonly code = "Transient";
}

/** It is refused, and somebody has to change something: reported at once, and tried again with a long backoff, because not every change can be seen. */
export class TerminalError extends OutcomeError {
  override name = "TerminalError";
  readonly code = "Terminal";
}

/** Not an error: something that must be there first is not there yet. Reported as such; a watch, or `retryAfterMs`, brings the next try. */
export class WaitingError extends OutcomeError {
  override name = "WaitingError";
  readonly code = "Waiting";
}

/** An object exists and the controller's own code cannot read it. Nothing is decided without it: what was made from it stays as it is. */
export class UnreadableError extends TerminalError {
  override name = "UnreadableError";
  readonly kind: Kind;
  readonly key: ObjectKey;
  /** `error` is the name of what was thrown. */
  constructor(kind: Kind, key: ObjectKey, error: string) {
    const message = `${kind.kind} ${key} cannot be read (${error}); nothing is changed for it until it can: correct the object, or update the operator, whose log says where`;
    super(message, { reason: "Unreadable" });
    this.kind = kind;
    this.key = key;
  }
}

// Names the right that a refused request lacked, in the words in which it would be granted.

/** How the API server's authorizer words a refusal; the parts are quoted by it with Go's %q. */
const refusal =
  /cannot (?<verb>\w+) resource "(?<resource>[^"]+)" in API group "(?<group>[^"]*)"(?: in the namespace "(?<namespace>[^"]+)"| (?<cluster>at the cluster scope))?/;

/** `update deployments.apps in namespace web`, or undefined if the refusal does not say (admission, a webhook). */
export function missingRight(error: ApiError): string | undefined {
  const { verb, resource = "", group, namespace } = refusal.exec(error.message)?.groups ?? {};
  if (!verb) return undefined;
  const [plural, ...subresource] = resource.split("/");
  const target = [group ? `${plural}.${group}` : plural, ...subresource].join("/");
  return `${verb} ${target} in ${namespace ? `namespace ${namespace}` : "the cluster"}`;
}

/** A failed run: what the user sees, and when it is tried again. */
export interface Failure {
  /** `Transient` passes by itself; `Refused` is for somebody to change: the object, a webhook, a quota, a right; `Waiting` is no failure. */
  readonly code: "Transient" | "Refused" | "Waiting";
  readonly reason: string;
  readonly message: string;
  /** Of what waits: when to look again. Of what failed: not before, whatever the backoff says. */
  readonly retryAfterMs: number | undefined;
  /** What the API server asks to wait, beside the backoff. */
  readonly serverAskedMs?: number | undefined;
  /** For the log, when nobody foresaw the error. */
  readonly unexpected?: UnexpectedError;
  /** The object that could not be read, if that is what failed. */
  readonly unreadable?: { readonly kind: Kind; readonly key: ObjectKey };
}

/** A failed run as it is told of. */
export interface FailedRun extends Failure {
  /** How long the run took. */
  readonly tookMs: number;
  /** In how much time the next one follows, unless a change comes before. */
  readonly retryInMs: number;
}

/** Nobody is to wait longer than a minute for being told, and by then one more run may have been cut at its deadline. */
const maxUntoldMs = 30_000;

/**
 * Whether a failure that may pass by itself need not be told of yet: for `toleratedMs` after the first in a row, and never if the next run would come too
 * late to tell, because the server asks for a long wait, or because runs take that long to fail.
 */
export function isTolerated({ tookMs, retryInMs }: Pick<FailedRun, "tookMs" | "retryInMs">, failingForMs: number, toleratedMs: number): boolean {
  return failingForMs < toleratedMs && tookMs + failingForMs + retryInMs < maxUntoldMs;
}

/** Classifies what was thrown. Errors that are none of the runtime's own count as transient with the reason `InternalError`, and their message is withheld. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof TransientError || thrown instanceof WaitingError) {
    const { code, reason, message, retryAfterMs } = thrown;
    return { code, reason, message, retryAfterMs };
  }
  if (thrown instanceof TerminalError) {
    const { reason, message, retryAfterMs } = thrown;
    const unreadable = thrown instanceof UnreadableError ? { unreadable: { kind: thrown.kind, key: thrown.key } } : {};
    return { code: "Refused", reason, message, retryAfterMs, ...unreadable };
  }
  if (thrown instanceof ApiError) return apiFailure(thrown);
  // The same request is answered in the same way until somebody asks for less or allows more.
  if (thrown instanceof AnswerTooLongError) return { code: "Refused", reason: "UnexpectedAnswer", message: thrown.message, retryAfterMs: undefined };
  if (thrown instanceof ConnectionError)
    return { code: "Transient", reason: "ApiServerUnreachable", message: thrown.message, retryAfterMs: undefined };
  const unexpected = safeErrorSummary(thrown);
  const message = `an unexpected error stopped this run (${unexpected.name}); the operator's log says where`;
  return { code: "Transient", reason: "InternalError", message, retryAfterMs: undefined, unexpected };
}

/** How long a run that was refused waits at least. Webhooks, quotas and rights change without an event, so it is tried again for ever. */
export const refusalBackoff: BackoffOptions = { firstMs: 5_000, maxMs: 300_000 };

/** How long a refused part is set aside. Longer, because a change of its input ends that at once, and the rest goes on meanwhile. */
export const refusedPartBackoff: BackoffOptions = { firstMs: 30_000, maxMs: 300_000 };

/** True if the same will be refused again until somebody changes something. */
export function isRefusal(thrown: unknown): boolean {
  if (thrown instanceof AnswerTooLongError) return true;
  return thrown instanceof TerminalError || isApiError(thrown, "Invalid", "BadRequest", "Forbidden", "NotFound", "Unexpected");
}

/** True if what was decided was decided from a cache that was behind: planning again from what is then there is all that is needed. */
export function isConflict(thrown: unknown): boolean {
  return isApiError(thrown, "Conflict", "AlreadyExists", "NotFound") || (thrown instanceof TransientError && thrown.reason === conflictReason);
}

/** The reason of a `TransientError` that is a conflict. */
export const conflictReason = "Conflict";

/** The run was cut at its deadline, whatever it threw on the way. */
export function deadlineFailure(deadlineMs: number): Failure {
  const message = `the run took longer than ${deadlineMs / 1000} s and was cut; it will be tried again`;
  return { code: "Transient", reason: "DeadlineExceeded", message, retryAfterMs: undefined };
}

function apiFailure(error: ApiError): Failure {
  const { code, message, retryAfterMs } = error;
  const right = code === "Forbidden" ? missingRight(error) : undefined;
  return {
    code: isRefusal(error) ? "Refused" : "Transient",
    reason: code === "Unexpected" ? "UnexpectedAnswer" : code,
    message: right ? `the operator lacks the right to ${right}; grant it and this goes on by itself` : message,
    retryAfterMs: undefined,
    serverAskedMs: retryAfterMs,
  };
}

// How a run is reported to those who write conditions and Events.

/** How a run ended without success, in words that may be shown to users: no secret is in them. */
export type ReportedOutcome = Pick<FailedRun, "code" | "reason" | "message" | "tookMs" | "retryInMs">;

/** One run's end. */
export interface Report {
  readonly controller: string;
  readonly primary: Kind | undefined;
  readonly key: ObjectKey;
  /** Absent: the run succeeded, and what was reported of the key before is to be taken back. */
  readonly outcome: ReportedOutcome | undefined;
  /** Since the first failure in a row. */
  readonly failingForMs: number;
  /** The wall clock at the start of the run. */
  readonly now: number;
  /** Writes made with it count as the key's own. */
  readonly client: Client;
}

/**
 * Writes down that a run failed or waits. Called after every such run of a controller that ended while it might act, one at a time per key; and once
 * after a success that follows. What it throws is logged and changes nothing else; at its signal's abort it is given up.
 */
export interface Reporter {
  (report: Report, signal: AbortSignal): Promise<void>;
  /** The keys of which an earlier process reported a failure that still stands. Default: none. */
  readonly standing?: (primary: Kind, controller: string, signal: AbortSignal) => Promise<readonly ObjectKey[]>;
}
