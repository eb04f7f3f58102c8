// A plan: what a pure function makes of observed state and the time, as data. `reconcileWith` carries it out; dry runs, tests and the command line read the same plan.
import type { Kind, KubeObject, ObjectName, Stored } from "../client/kind.ts";
import type { Live, Owner } from "./owned-objects.ts";
import type { Condition } from "./status.ts";

/** What is to be done for a key, and how its objects fare then. */
export interface Plan<Look = never, Action = never> {
  /** In order. The first that fails ends the run, and the next run plans anew from what is then there. */
  readonly steps: readonly Step<Look, Action>[];
  /** True: plan again in this run, from what the steps taught; nothing is reported yet. Absent: these steps are all. */
  readonly more?: boolean;
  /** How the key's objects fare once the steps are done. Written where it is new; a condition that changes makes an Event by itself. */
  readonly status: readonly StatusReport[];
  /** What no step did and no condition says; recorded when all is done, with `release` once the object is let go. */
  readonly events?: readonly PlannedEvent[];
  /** When time alone changes the plan, by the API server's clock. */
  readonly nextAtMs?: number | undefined;
  /**
   * Nothing was decided: a limit of the controller's own, or changes that still go on, hold the key back until `nextAtMs`. That is neither success nor
   * failure: of a key that fails, what was said of it and its backoff stay. Only with no steps.
   */
  readonly deferred?: boolean;
  /** Parts that a limit of the controller's own holds back in this plan. If they were refused before, their backoff is not forgotten meanwhile. */
  readonly heldBack?: readonly HeldBack[];
  /** The rate limit does not count, as for a revocation. */
  readonly urgent?: boolean;
  /** Once the steps are done nothing holds the deleted object any more: our finalizer is dropped. The rate limit does not count. */
  readonly release?: boolean;
}

/** One step of a plan. */
export type Step<Look = never, Action = never> =
  | Write
  /** Learns what caches cannot say. Changes nothing, so dry runs do it too. */
  | { readonly verb: "look"; readonly at: Look }
  /** A change of the controller's own, made by `Planner.act`. Withheld in dry runs; a plan with `more` must not ask for the same one twice in a run. */
  | ({ readonly verb: "do"; readonly action: Action } & StepOptions);

/** A change of an object that is kept on an owner's behalf. One that is not this owner's is never touched. */
export type Write =
  /** Server-side apply. Not sent if `live` shows that nothing would change; without `live` the object is looked up first. */
  | ({
      readonly verb: "apply";
      readonly kind: Kind;
      readonly object: KubeObject;
      readonly owner: Owner;
      readonly live?: Live;
      /** What words about a failure have in the place of a name that is another at every try: with it, each would be news. Default: the name. */
      readonly nameInWords?: string;
    } & StepOptions)
  | ({ readonly verb: "delete"; readonly kind: Kind; readonly name: ObjectName; readonly owner: Owner } & StepOptions);

/** What a step that changes something says of itself. */
interface StepOptions {
  /**
   * What of the key the step is for. If the step is refused, this part is set aside with a backoff and shown in `Moment.refused`, and the rest goes on.
   * Without a part a refusal is a failure of the whole run.
   */
  readonly part?: string;
  /** What the step is made from. A part that was refused is tried at once when this differs. Default: the applied object; nothing for other verbs. */
  readonly input?: string;
  /** What the log says of it, such as `published a checksum`; of a dry run, that it would have. Default: nothing, but for a withheld `do`. */
  readonly log?: { readonly message: string; readonly fields?: Readonly<Record<string, unknown>> };
  /** What the step did, recorded if it was done, whatever becomes of those after it: when the run ends. */
  readonly events?: readonly PlannedEvent[];
}

/** A step that is wanted and not planned yet, as `StepOptions` names it. */
export interface HeldBack {
  readonly part: string;
  readonly input?: string;
}

/** Something to record for people. */
export interface PlannedEvent {
  /** Default: each object that `Planner.regarding` names for the key. */
  readonly regarding?: EventObject;
  readonly type: "Normal" | "Warning";
  /** PascalCase, one of the controller's reasons. */
  readonly reason: string;
  /** PascalCase verb; see `EventToRecord`. Default `Reconcile`. */
  readonly action?: string;
  readonly message: string;
}

/** An object that an Event can be about. */
export interface EventObject {
  readonly kind: Kind;
  readonly object: { readonly metadata: { readonly namespace?: string; readonly name: string; readonly uid?: string } };
}

/** As much of a status as the runtime knows. */
export interface ReportedStatus {
  readonly conditions?: readonly Condition[] | undefined;
}

/** An object that shows how a key fares. */
export interface StatusObject {
  readonly kind: Kind;
  readonly object: Stored<KubeObject> & { readonly status?: ReportedStatus | undefined };
  /**
   * For objects whose cache keeps no status: what `statusDigest` makes of it, `none` if there is none yet. Reports on such an object name every condition
   * that they ever set, for what is not named cannot be compared.
   */
  readonly statusDigest?: string;
  /** The object has no status of ours, as a Namespace or a Deployment: only Events tell. Its uid may be empty if nobody knows it. */
  readonly eventsOnly?: boolean;
}

/** What an object's status is to say. */
export interface StatusReport<Fields extends object = object> {
  readonly regarding: StatusObject;
  /** By type. `null` removes one, a type that is not named stays. Times and `observedGeneration` are the runtime's. */
  readonly conditions: Readonly<Record<string, ConditionReport | null>>;
  /** The rest of the status, whole. Absent: it stays as it is. */
  readonly fields?: Fields | undefined;
  /** In which order conditions stand in the status, by type; others come first. Default: the order in which they first appeared. */
  readonly order?: readonly string[];
  /** The status holds what others may have written down meanwhile: if the object is no longer the version that was observed, that is a conflict. */
  readonly onlyIfUnchanged?: boolean;
}

/** What one condition is to say. */
export interface ConditionReport<Reason extends string = string> {
  readonly status: Condition["status"];
  readonly reason: Reason;
  readonly message: string;
}

/** Why something cannot be done now, and until when if that is known. */
export interface Blocker<Reason extends string = string> {
  readonly reason: Reason;
  readonly message: string;
  readonly untilMs?: number | undefined;
}

/** The time, and what the runtime knows of the key's past. */
export interface Moment {
  /** The API server's clock: at the start of the run, and for a plan that follows one with `more`, then. */
  readonly nowMs: number;
  /** Set while that clock and ours differ too much: nothing that depends on the time may be planned. The key runs again when they may agree. */
  readonly clockSkew?: Blocker<"ClockSkew">;
  /** Parts that are set aside, by their name: plan no step for them, and say why in a condition. The key runs again when their time has come. */
  readonly refused: ReadonlyMap<string, Blocker>;
}

/** What a reason of conditions and Events means. */
export interface Reason {
  /** One sentence, for the reference. */
  readonly meaning: string;
  /** How an object fares whose condition gives it. Absent: only Events give it. */
  readonly health?: "healthy" | "progressing" | "paused" | "degraded";
  /** The Event that a condition makes when it begins to give it. Default: a Warning if the health is `degraded`, Normal if `paused`, else none. */
  readonly event?: "Normal" | "Warning" | "none";
}

/** The reasons of a controller. What is not among them is the runtime's, for a failure, and makes a Warning. */
export type ReasonTable = Readonly<Record<string, Reason>>;
