// One run of one key: started, cut at its deadline or with its term, and left behind if it does not listen.
import type { Clock } from "../clock.ts";
import type { Failure } from "./failure.ts";
import { deadlineFailure, failureOf } from "./failure.ts";
import type { Outcome } from "./controller.ts";
import { TermEndedError } from "./term.ts";

/** How a run came out for those who wait for it. */
export type RunEnd =
  | { readonly type: "ok"; readonly outcome: Outcome; readonly abandoned: false }
  | { readonly type: "failed"; readonly failure: Failure; readonly abandoned: boolean }
  /** The term ended first; whoever works on the key next does it all. */
  | { readonly type: "stopped"; readonly abandoned: boolean };

/** A run under way. */
export interface StartedRun {
  /** Never rejects. Resolves no later than shortly after the deadline or `stop`. */
  readonly ended: Promise<RunEnd>;
  /** Resolves when the reconcile itself is over, which for an abandoned run may be much later or never. */
  readonly settled: Promise<void>;
  /** Cuts the run because its term is over. */
  stop(): void;
}

/** Gives the signal of a run, which is made when it is first asked for: most runs find nothing to do and need none, and it is a good part of what they cost. */
export type SignalOnDemand = () => AbortSignal;

/** How one run is made. */
export interface RunOptions {
  readonly reconcile: (signal: SignalOnDemand) => Promise<Outcome | void>;
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** How long a run may take to end after its signal aborted. */
  readonly abandonAfterMs: number;
}

/** Why a run's signal aborts at the deadline. */
class DeadlineExceededError extends Error {
  readonly code = "DeadlineExceeded";
}

/** Starts a run. */
export function startRun({ reconcile, clock, deadlineMs, abandonAfterMs }: RunOptions): StartedRun {
  let abort: AbortController | undefined;
  let cutWith: Error | undefined;
  const { promise: ignored, resolve: ignore } = Promise.withResolvers<RunEnd>();
  let grace = clock.setTimer(deadlineMs, () => cut(new DeadlineExceededError(`the run's deadline of ${deadlineMs / 1000} s has passed`)));

  function signal(): AbortSignal {
    abort ??= new AbortController();
    if (cutWith) abort.abort(cutWith);
    return abort.signal;
  }

  function cut(reason: Error): void {
    if (cutWith) return;
    cutWith = reason;
    grace.cancel();
    grace = clock.setTimer(abandonAfterMs, () => ignore({ ...cutEnd(), abandoned: true }));
    abort?.abort(reason);
  }

  /** How a run that was cut ends, whatever it throws about it. */
  function cutEnd(): { readonly type: "stopped" } | { readonly type: "failed"; readonly failure: Failure } {
    return cutWith instanceof DeadlineExceededError ? { type: "failed", failure: deadlineFailure(deadlineMs) } : { type: "stopped" };
  }

  async function attempt(): Promise<RunEnd> {
    try {
      return { type: "ok", outcome: (await reconcile(signal)) ?? {}, abandoned: false };
    } catch (thrown) {
      if (cutWith) return { ...cutEnd(), abandoned: false };
      // A write that was refused because the lease ran out, before a timer could tell.
      if (thrown instanceof TermEndedError) return { type: "stopped", abandoned: false };
      return { type: "failed", failure: failureOf(thrown), abandoned: false };
    }
  }

  const attempted = attempt();
  const settled = attempted.then(() => grace.cancel());
  return {
    ended: Promise.race([attempted, ignored]),
    settled,
    stop: () => cut(new TermEndedError("the controller stops here: its lease was lost or the process ends")),
  };
}
