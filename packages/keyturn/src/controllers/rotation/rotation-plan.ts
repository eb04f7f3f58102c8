// What a plan for a set consists of. Every write is on its own: a crash may come between any two.
import type { Hindrance, SourceObservation } from "./observation.ts";
import type { RotationLog } from "./rotation-log.ts";

/** Which state of an object a write is meant for; on any other it fails and changes nothing. */
export interface Precondition {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** One change to the cluster. */
export type RotationWrite =
  /** Creates the record of a version that the source has just become; fails if its name is taken. */
  | {
      readonly verb: "createRecord";
      readonly seq: number;
      readonly resource: string;
      readonly watchDigest: string;
      readonly digest: string;
      readonly seenAtMs: number;
      readonly log: RotationLog;
      /** uids of the targets that own it. */
      readonly owners: readonly string[];
    }
  /** Replaces what is noted with a record; `log` absent leaves it. */
  | {
      readonly verb: "noteRecord";
      readonly seq: number;
      /** Absent if the record was made, or noted, earlier in the same plan. */
      readonly precondition: Precondition | undefined;
      readonly log: RotationLog | undefined;
      readonly owners: readonly string[];
    }
  /** Deletes a record. No precondition if it was noted earlier in the same plan. */
  | { readonly verb: "deleteRecord"; readonly seq: number; readonly precondition: Precondition | undefined }
  /** Gives a target's object the content of a version, together with the annotations that say so. Creates it if there is no precondition. */
  | {
      readonly verb: "writeTarget";
      readonly target: string;
      readonly resource: string;
      readonly objectName: string;
      readonly seq: number;
      readonly digest: string;
      readonly atMs: number;
      readonly ownedByTarget: boolean;
      readonly precondition: Precondition | undefined;
    }
  | {
      readonly verb: "deleteTarget";
      readonly target: string;
      readonly resource: string;
      readonly objectName: string;
      readonly precondition: Precondition;
    };

/** What holds up a whole set. */
export type Standstill =
  | { readonly reason: "NoSource" }
  | {
      readonly reason:
        | "SourceConflict"
        | "PathNotFound"
        | "InvalidPath"
        | "ContentTooLarge"
        | "ClockSkew"
        | "WriteRefused"
        | "HistoryDamaged"
        | "Paused"
        | "NotSelected";
      readonly message: string;
      /** When it ends by itself, if that is known. */
      readonly untilMs?: number | undefined;
    };

/** A version that a target is to get. */
export interface PendingStep {
  readonly seq: number;
  /** If nothing changes until then. */
  readonly notBeforeMs: number;
  /** Settling: the source must stay as it is until then. Following: the content moves up from the target before. OutsideWindow: no maintenance window is open when it would be due. */
  readonly reason: "Settling" | "Following" | "OutsideWindow";
}

/** How one target stands when the writes are made. */
export interface TargetOutlook {
  readonly rank: number;
  /** The version that it holds; absent if it has none. */
  readonly held: { readonly seq: number; readonly digest: string; readonly atMs: number } | undefined;
  /** The version that it held before, if this very plan gives it another. */
  readonly replaced: number | undefined;
  /** Its object was not as it should be and is written anew, without a new version. */
  readonly restored: boolean;
  /** Holds a version of another rank because there is none of its own. */
  readonly backfilled: boolean;
  readonly pending: PendingStep | undefined;
  /** Why its object cannot be written. */
  readonly hindrance: Hindrance | undefined;
  /** How long a version is in no target at all on its way here; 0 if never. */
  readonly gapMs: number;
  /** The object is deleted with its source, now or before. */
  readonly removed: boolean;
}

/** The writes in the order in which they are to be made, and how the set then stands. */
export interface RotationPlan {
  readonly writes: readonly RotationWrite[];
  /** By name. */
  readonly targets: ReadonlyMap<string, TargetOutlook>;
  readonly standstill: Standstill | undefined;
  /** The source, if there is exactly one. */
  readonly source: SourceObservation | undefined;
  /** The set's policies contradict each other, and Settled is used. */
  readonly policyConflict: boolean;
  /** Since when the source has been another than what is live without ever staying long enough. */
  readonly unstableSinceMs: number | undefined;
  /** Time of the API server at which time alone changes the plan. */
  readonly nextAtMs: number | undefined;
}
