// What a controller gives to the engine: its functions, from what is observed to what is carried out, and how its keys are reconciled.
import type { ObjectKey } from "../client/kind.ts";
import type { BackoffOptions } from "../queue/backoff.ts";
import type { WriteLimits } from "../rate-limit.ts";
import type { Run } from "./controller.ts";
import type { Failure } from "./failure.ts";
import type { Moment, Plan, ReasonTable, StatusObject, StatusReport, Step } from "./plan.ts";

/**
 * A controller's functions. What any but `plan` throws becomes condition, Event, metric and backoff: `TransientError` for what passes by itself,
 * `TerminalError` for what somebody has to change, errors of the client as they are.
 */
export interface Planner<Observed, Look = never, Action = never, P extends Plan<Look, Action> = Plan<Look, Action>> {
  /** From caches; asks the API server only what they cannot say. `nowMs` is what the plan gets. Undefined: nothing is left of the key. */
  observe(run: Run, nowMs: number): Observed | undefined | Promise<Observed | undefined>;
  /** Pure. Asked twice in a run only while a part is set aside. What else a plan says of itself is for `show`. */
  plan(observed: Observed, moment: Moment): P;
  /** Carries a `look` out. `nowMs` is what the plan got. Resolves to what is known then. */
  look?(at: Look, observed: Observed, run: Run, nowMs: number): Promise<Observed>;
  /** Carries a `do` out. `nowMs` is what the plan got. Resolves to what is known then. Never called in a dry run. */
  act?(action: Action, observed: Observed, run: Run, nowMs: number): Promise<Observed>;
  /** Counts a change that was made, before its Events are recorded. Never called in a dry run, nor for an `apply` that changed nothing. */
  done?(step: Exclude<Step<Look, Action>, { readonly verb: "look" }>, run: Run): void;
  /** Counts or logs that an object was let go. Never called in a dry run. */
  released?(plan: P, run: Run): void;
  /** All steps are done and all is reported, in a dry run as if: for what the controller remembers of the key. */
  completed?(observed: Observed, run: Run): void;
  /** Whose conditions and Events tell of a failed run, and whom Events are about that name nobody. Default: nobody. */
  regarding?(key: ObjectKey): readonly StatusObject[];
  /** What they are to say of it. Default: `Ready` is False, with the failure's reason and message. */
  failed?(failure: Failure, regarding: readonly StatusObject[]): readonly StatusReport[];
  /** Held before anything is done for the object that `of` names, and dropped by a plan with `release`. */
  readonly finalizer?: {
    readonly name: string;
    of(observed: Observed): StatusObject | undefined;
    /** What is known once the finalizer was added, for controllers that write to the version that they observed. Default: the same as before. */
    added?(observed: Observed, metadata: StatusObject["object"]["metadata"]): Observed;
  };
  /** Shows something of the key, such as metrics: called with each plan, and with undefined when the key or the term ends. */
  show?(key: ObjectKey, shown: { readonly plan: P; readonly observed: Observed } | undefined): void;
}

/** Why nothing is done for a key. */
export type LeftAlone =
  /** It is none of ours: nothing is written, and nothing more is shown of it. */
  | { readonly type: "notSelected" }
  /** Only its status is written; what was shown of it stays. */
  | { readonly type: "paused"; readonly status: readonly StatusReport[]; readonly untilMs?: number | undefined };

/** How keys are reconciled. */
export interface ReconcileOptions {
  /** Reasons of conditions and Events. */
  readonly reasons: ReasonTable;
  /** Pause and selection, for keys that stand for one object: asked before anything is observed. Default: nothing is left alone. */
  readonly leaves?: (key: ObjectKey, nowMs: number) => LeftAlone | undefined;
  /** Limits on the runs of one key that change something. Default: none. */
  readonly rateLimit?: WriteLimits;
  /**
   * After a failure that passes by itself nothing is changed before this backoff is over, whatever wakes the key: for those who promise how often they try.
   * Default: a change of what the plan is made from is tried at once.
   */
  readonly heldBackoff?: BackoffOptions;
  /**
   * For how long failures that pass by themselves go untold. By time, because how many fit into it is the backoff's business; a function for what
   * depends on how the objects fare. Default 5,000. What fails so slowly, or is tried again so late, that it would be told after half a minute, is told at once.
   */
  readonly toleratedMs?: number | ((regarding: readonly StatusObject[]) => number);
  /** How long a refused part is set aside. Default 30 s, doubled up to 5 min. */
  readonly refusedPartBackoff?: BackoffOptions;
}
