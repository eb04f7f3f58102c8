// How a run is told to those who write conditions and Events.
import type { Client } from "../client/client.ts";
import type { Kind } from "../client/kind.ts";
import type { ObjectKey } from "../client/object.ts";

/** How a run ended without success, in words that may be shown to users: no secret is in them. */
export interface ReportedOutcome {
  readonly code: "Transient" | "Terminal" | "Waiting";
  readonly reason: string;
  readonly message: string;
}

/** One run's end. */
export interface Report {
  readonly controller: string;
  readonly primary: Kind | undefined;
  readonly key: ObjectKey;
  readonly outcome: ReportedOutcome;
  /** The wall clock at the start of the run. */
  readonly now: number;
  /** Writes made with it count as the key's own. */
  readonly client: Client;
}

/**
 * Writes down that a run failed or waits. Called after every such run of a controller that ended while it might act, one at a time per key.
 * Of success nobody is told: a reconcile that succeeds writes its own status, and most find nothing to do.
 * What it throws is logged and changes nothing else; at its signal's abort it is given up.
 */
export type Reporter = (report: Report, signal: AbortSignal) => Promise<void>;
