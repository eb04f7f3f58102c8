// A rotation set: its source, and a lane for each target.
import type { ConditionView, ObjectRef, RecordBase } from "./record.ts";

/** A stretch of time in which a target held a version. */
export interface HeldStretch {
  /** Counts the states of the source. */
  readonly seq: number;
  /** SHA-256 of the content, in hex. */
  readonly digest: string;
  readonly fromMs: number;
  /** Absent for the version that is held now. */
  readonly toMs?: number;
  /** Only filled in, because there is no older version for this target. */
  readonly backfilled: boolean;
}

/** Something that will happen if nothing changes but the time. */
export interface PlannedStep {
  readonly atMs: number;
  /** The version that the target gets; absent if its object is deleted. */
  readonly seq?: number;
  /** Absent for a version that the operator has not recorded yet. */
  readonly digest?: string;
}

/** A target of a set: one lane. */
export interface RotationLane {
  readonly target: ObjectRef;
  /** The object that is kept for it; absent while there is none. */
  readonly object?: ObjectRef;
  /** The place in the chain, counted from 1. Targets of one rank stand side by side. */
  readonly rank: number;
  readonly order: number;
  readonly delayMs: number;
  /** Oldest first; the last without `toMs` is live. Reaches back as far as the cluster, or else this server, remembers. */
  readonly held: readonly HeldStretch[];
  /** In the order of time. */
  readonly planned: readonly PlannedStep[];
  /** Why the next version waits: the source must stay as it is (`Settling`), or the content moves up from the target before (`Following`). */
  readonly pending?: { readonly seq: number; readonly notBeforeMs: number; readonly reason: "Settling" | "Following" };
  /** How long a version is in no target at all on its way here; 0 if never. */
  readonly gapMs: number;
  readonly health: RecordBase["health"];
  readonly reason: string;
  readonly message: string;
  readonly conditions: readonly ConditionView[];
}

/** A state of the source that is remembered. */
export interface RotationVersion {
  readonly seq: number;
  readonly digest: string;
  readonly seenMs: number;
  /** The source is this version. */
  readonly isSource: boolean;
}

/** A stretch of time that does not count, because the source was gone or unreadable. */
export interface FreezeStretch {
  readonly fromMs: number;
  /** Absent while it lasts. */
  readonly toMs?: number;
}

/** A rotation set. Its `ref` is the target of the first rank; conditions are with the lanes, and here there are none. */
export interface RotationSetRecord extends RecordBase {
  readonly type: "rotationSet";
  /** `rotation/<namespace>/<set>`. */
  readonly id: string;
  readonly step: "rotation";
  readonly set: string;
  /** Absent while there is none, or more than one. */
  readonly source?: ObjectRef;
  /** Since when the source has been what it is. */
  readonly sourceSinceMs?: number;
  readonly policy: "Settled" | "Queue";
  /** By rank, then by name. */
  readonly lanes: readonly RotationLane[];
  /** Newest first. */
  readonly versions: readonly RotationVersion[];
  readonly frozen: readonly FreezeStretch[];
}
