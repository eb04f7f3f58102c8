// How a run is told to those who write conditions and Events.
import type { Client } from "../client/client.ts";
import type { Kind } from "../client/kind.ts";
import type { ObjectKey } from "../client/object.ts";

/** How a run ended, in words that may be shown to users: no secret is in them. */
export type ReportedOutcome =
  | { readonly code: "Ok" }
  | { readonly code: "Transient" | "Terminal" | "Waiting"; readonly reason: string; readonly message: string };

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
 * Writes down how a run ended. Called after every run of a controller that ended while it might act, one at a time per key.
 * What it throws is logged and changes nothing else; at its signal's abort it is given up.
 */
export type Reporter = (report: Report, signal: AbortSignal) => Promise<void>;
