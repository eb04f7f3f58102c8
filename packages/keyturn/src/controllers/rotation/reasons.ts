// Why a target is as it is: the words shared by conditions, Events, metrics and the documentation.

/** What a condition can say. */
export type ConditionReason =
  /** The target holds the version that it should. */
  | "UpToDate"
  /** The target holds the version that it should, and the next one is on its way. */
  | "Rotating"
  /** There is no source: nothing moves, and what targets hold stays or goes as deletionMode says. */
  | "NoSource"
  /** The source is gone, and the target's object went with it. */
  | "Removed"
  /** Two objects are marked as the source, or a target's own object is: nothing moves until that is put right. */
  | "SourceConflict"
  /** watch-path or rotate-path points at nothing in the source. */
  | "PathNotFound"
  /** watch-path or rotate-path cannot be read, or points at what cannot be rotated. */
  | "InvalidPath"
  /** A version would not fit into a Secret. */
  | "ContentTooLarge"
  /** An object of the target's name exists and is not this target's. */
  | "NameConflict"
  /** The API server does not take the object, or the version's record. */
  | "WriteRefused"
  /** The history itself stops the set: a version's record or its log cannot be read, has lost a label or an annotation, or the numbers of versions are used up. */
  | "HistoryDamaged"
  /** The operator's clock and the API server's are too far apart for any time to be believed. */
  | "ClockSkew"
  /** The target or the source is paused: nothing moves here, and what the target holds stays as it is. */
  | "Paused"
  /** Another target of the set is outside of what the operator looks after, and half a set cannot be rotated. */
  | "NotSelected"
  /** The target holds a version of its own. */
  | "HasOwnVersion"
  /** There are fewer versions than targets, so that the target holds the oldest there is, or nothing. */
  | "InsufficientHistory"
  /** The delay is longer than that of the target before, so that a version is in neither for a while. */
  | "DelayLongerThanBefore"
  /** The source changes more often than the first target's delay lets it settle. */
  | "SourceUnstable"
  /** The targets of a set ask for different change policies; Settled is used. */
  | "PolicyConflict"
  /** Versions move as they should. */
  | "Progressing";

/** What an Event can say about a version. */
export type VersionReason =
  /** The target got its first version. */
  | "VersionFilled"
  /** The target got the next version. */
  | "VersionRotated"
  /** The target's object was edited or deleted and has been put back. */
  | "DriftRepaired"
  /** The target's object was deleted because its source is gone. */
  | "TargetRemoved";
