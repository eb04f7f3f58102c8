// Why a target is as it is: the words shared by conditions, Events, metrics and the documentation.
import type { ReasonTable } from "../../feature/feature.ts";

/** What a condition can say. */
const conditionReasons = {
  UpToDate: { meaning: "The target holds the version that it should.", health: "healthy" },
  Rotating: { meaning: "The target holds the version that it should, and the next one is on its way.", health: "progressing" },
  NoSource: {
    meaning: "There is no source: nothing moves, and what targets hold stays or goes as deletionMode says.",
    health: "degraded",
    event: "Normal",
  },
  Removed: { meaning: "The source is gone, and the target's object went with it.", health: "healthy", event: "Normal" },
  SourceConflict: {
    meaning: "Two objects are marked as the source, or a target's own object is: nothing moves until that is put right.",
    health: "degraded",
  },
  PathNotFound: { meaning: "watch-path or rotate-path points at nothing in the source.", health: "degraded" },
  InvalidPath: { meaning: "watch-path or rotate-path cannot be read, or points at what cannot be rotated.", health: "degraded" },
  ContentTooLarge: { meaning: "A version would not fit into a Secret.", health: "degraded" },
  NameConflict: { meaning: "An object of the target's name exists and is not this target's.", health: "degraded" },
  WriteRefused: { meaning: "The API server does not take the object, or the version's record.", health: "degraded" },
  HistoryDamaged: {
    meaning:
      "The history itself stops the set: a version's record or its log cannot be read, has lost a label or an annotation, nothing says what an object holds, or the numbers of versions are used up.",
    health: "degraded",
  },
  VersionLost: {
    meaning:
      "The content of a version that a target holds, or is to get, is in no record and no object: nothing moves until it is restored or given up.",
    health: "degraded",
  },
  KindNotWatched: {
    meaning:
      "The set's versions are of a kind that the operator does not watch, or the API server does not serve: nothing moves, and nothing is deleted.",
    health: "degraded",
  },
  SetChanged: {
    meaning: "Targets were added, removed or given another order: nothing moves until that has held for the set's longest delay.",
    health: "progressing",
    event: "Normal",
  },
  WaitingForTarget: {
    meaning: "Another target of the set cannot be written, and a version would be lost, or be out of order, if this one moved on.",
    health: "degraded",
  },
  AwaitingPublication: {
    meaning: "A version is due, and is taken when its key has been published for long enough (`keyturn.io/publish-before`).",
    health: "progressing",
  },
  KeyNotPublished: {
    meaning:
      "A version is due, and its key is not published where the target asks for it (`keyturn.io/publish-before`): the target keeps what it holds.",
    health: "degraded",
  },
  ClockSkew: { meaning: "The operator's clock and the API server's are too far apart for any time to be believed.", health: "degraded" },
  Paused: { meaning: "The target or the source is paused: nothing moves here, and what the target holds stays as it is.", health: "paused" },
  NotSelected: {
    meaning: "Another target of the set is outside of what the operator looks after, and half a set cannot be rotated.",
    health: "paused",
    event: "Warning",
  },
  HasOwnVersion: { meaning: "The target holds a version of its own.", health: "healthy" },
  InsufficientHistory: {
    meaning: "There are fewer versions than targets, so that the target holds the oldest there is, or nothing.",
    health: "progressing",
  },
  DelayLongerThanBefore: {
    meaning: "The delay is longer than that of the target before, so that a version is in neither for a while.",
    health: "degraded",
  },
  SourceUnstable: { meaning: "The source changes more often than the first target's delay lets it settle.", health: "degraded" },
  PolicyConflict: { meaning: "The targets of a set ask for different change policies; Settled is used.", health: "degraded" },
  Progressing: { meaning: "Versions move as they should.", health: "healthy" },
} as const satisfies ReasonTable;

/** What an Event can say about a version. */
const versionReasons = {
  VersionFilled: { meaning: "The target got its first version." },
  VersionRotated: { meaning: "The target got the next version.", notable: true },
  DriftRepaired: { meaning: "The target's object was edited or deleted and has been put back." },
  TargetRemoved: { meaning: "The target's object was deleted because its source is gone.", notable: true },
} as const satisfies ReasonTable;

export const rotationReasons = { ...conditionReasons, ...versionReasons };

export type ConditionReason = keyof typeof conditionReasons;
export type VersionReason = keyof typeof versionReasons;
