// Everything that the plan for one set is made from. Contents do not come here: versions are told apart by digests.
import type { Pause } from "../attention.ts";
import type { MaintenanceWindows } from "../maintenance-window.ts";
import type { RotationLog } from "./rotation-log.ts";

/** What was observed of a set. All of it lies in one namespace. */
export interface SetObservation {
  readonly namespace: string;
  readonly set: string;
  /** Every object that is marked as the set's source. */
  readonly sources: readonly SourceObservation[];
  /** The set's RotationTargets that are there to stay, in any order. */
  readonly targets: readonly TargetObservation[];
  /** The set's version records, in any order. */
  readonly records: readonly RecordObservation[];
  /** Sequence numbers above all of `records` whose record's name is taken by something else. */
  readonly takenSeqs: readonly number[];
  /** What was found wrong with the history, if anything: nothing moves then. */
  readonly damage?: string;
  /** By how much the API server's clock is ahead of ours; absent if nothing is known about it. */
  readonly serverAheadMs?: number;
  /** When contents may move; absent for at any time. */
  readonly maintenance?: MaintenanceWindows;
}

/** An object that is marked as a source. */
export interface SourceObservation {
  /** `plural.group`. */
  readonly resource: string;
  readonly name: string;
  readonly uid: string;
  readonly content: SourceContent;
  /** People asked for nothing to move. */
  readonly pause?: Pause;
  /** When the server last saw the watched part written, if it says so: not before the write, and up to a second after it. */
  readonly writtenAtMs?: number;
}

export type SourceContent =
  | {
      readonly ok: true;
      /** Digest of what `watch-path` covers: a new one makes a new version. */
      readonly watchDigest: string;
      /** Digest of what `rotate-path` covers: the version's content. */
      readonly digest: string;
    }
  | { readonly ok: false; readonly reason: "PathNotFound" | "InvalidPath" | "ContentTooLarge"; readonly message: string };

/** A RotationTarget, with defaults filled in. */
export interface TargetObservation {
  readonly name: string;
  readonly uid: string;
  readonly generation: number | undefined;
  readonly order: number;
  readonly delayMs: number;
  readonly deletionMode: "keep" | "cascade";
  readonly whenUnfilled: "Backfill" | "Absent";
  readonly changePolicy: "Settled" | "Queue";
  /** The name of the object to keep. */
  readonly objectName: string;
  /** Tells whether another status would say the same; undefined if there is none. */
  readonly statusMark: string | undefined;
  /** What there is under that name of the kinds in question: the sources', the records', and whatever is marked as this target's. */
  readonly objects: readonly ObjectObservation[];
  /** What stands in the way of writing the target's object, if anything. The object is then not touched. */
  readonly hindrance?: Hindrance;
}

/** Why a target's object cannot be written. */
export interface Hindrance {
  readonly reason: "NameConflict" | "SourceConflict" | "WriteRefused" | "Paused" | "NotSelected";
  readonly message: string;
  /** When it ends by itself. */
  readonly untilMs?: number | undefined;
}

/** An object under a target's name, whoever's it is. */
export interface ObjectObservation {
  readonly resource: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Marked as kept for this very target. */
  readonly ours: boolean;
  /** What its annotations say it was written with; absent if they say nothing that can be read. */
  readonly applied?: { readonly seq: number; readonly digest: string; readonly atMs: number };
  /** Digest of its content as it is now; another than `applied.digest` is drift. */
  readonly digest: string;
  /** Is owned by its RotationTarget, and so goes with it. */
  readonly ownedByTarget: boolean;
}

/** A version record. */
export interface RecordObservation {
  readonly seq: number;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The kind of the source at the time. */
  readonly resource: string;
  readonly watchDigest: string;
  readonly digest: string;
  readonly seenAtMs: number;
  /** As of when this record was the newest. Absent if it cannot be read. */
  readonly log: RotationLog | undefined;
  /** uids of its owners. */
  readonly owners: readonly string[];
}
