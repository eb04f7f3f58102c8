// The right to act on a controller's keys, for as long as it lasts: a held Lease, or the life of a process without election.

/**
 * A time during which keys may be worked on.
 *
 * `isValid` is the truth; the signals follow it as soon as the event loop turns. A process that was stopped and continued therefore asks
 * `isValid` before it acts and does not rely on a timer that should have fired while it stood still.
 */
export interface Term {
  /** Aborts when no new run may start; those under way may end. */
  readonly drain: AbortSignal;
  /** Aborts when everything must stop at once. */
  readonly signal: AbortSignal;
  /** False as soon as the right has run out. */
  isValid(): boolean;
}

/** Why a run's signal aborted or a write was refused: the controller may no longer act here. */
export class TermEndedError extends Error {
  readonly code = "TermEnded";
  constructor(message: string) {
    super(message);
    this.name = "TermEndedError";
  }
}
