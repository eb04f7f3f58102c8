// Why a target is as it is: the words shared by conditions, Events, metrics and the documentation.
import type { ReasonTable } from "../../feature/feature.ts";

/** What a condition can say. */
const conditionReasons = {
  UpToDate: { meaning: "The target holds the version that it should." },
  Rotating: { meaning: "The target holds the version that it should, and the next one is on its way." },
  NoSource: { meaning: "There is no source: nothing moves, and what targets hold stays or goes as deletionMode says." },
  Removed: { meaning: "The source is gone, and the target's object went with it." },
  SourceConflict: { meaning: "Two objects are marked as the source, or a target's own object is: nothing moves until that is put right." },
  PathNotFound: { meaning: "watch-path or rotate-path points at nothing in the source." },
  InvalidPath: { meaning: "watch-path or rotate-path cannot be read, or points at what cannot be rotated." },
  ContentTooLarge: { meaning: "A version would not fit into a Secret." },
  NameConflict: { meaning: "An object of the target's name exists and is not this target's." },
  WriteRefused: { meaning: "The API server does not take the object, or the version's record." },
  HistoryDamaged: {
    meaning:
      "The history itself stops the set: a version's record or its log cannot be read, has lost a label or an annotation, or the numbers of versions are used up.",
  },
  ClockSkew: { meaning: "The operator's clock and the API server's are too far apart for any time to be believed." },
  Paused: { meaning: "The target or the source is paused: nothing moves here, and what the target holds stays as it is." },
  NotSelected: { meaning: "Another target of the set is outside of what the operator looks after, and half a set cannot be rotated." },
  HasOwnVersion: { meaning: "The target holds a version of its own." },
  InsufficientHistory: { meaning: "There are fewer versions than targets, so that the target holds the oldest there is, or nothing." },
  DelayLongerThanBefore: { meaning: "The delay is longer than that of the target before, so that a version is in neither for a while." },
  SourceUnstable: { meaning: "The source changes more often than the first target's delay lets it settle." },
  PolicyConflict: { meaning: "The targets of a set ask for different change policies; Settled is used." },
  Progressing: { meaning: "Versions move as they should." },
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
