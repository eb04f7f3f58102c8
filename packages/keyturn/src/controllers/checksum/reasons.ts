// Why an object or a checksum is as it is: the words shared by status, conditions, Events, metrics and the documentation.
import type { ReasonTable } from "../../feature/feature.ts";

/** Why an object has no id, so that no checksum covers it. */
const leftOutReasons = {
  NumberMissing: { meaning: "The name does not end in `-` and a number." },
  VersionMissing: { meaning: "None of the version annotations is there." },
  VersionInvalid: { meaning: 'The version annotation is not a whole number, or is 0, which stands for "no version".' },
  CertificateMissing: { meaning: "The Secret has no `tls.crt`, or an empty one." },
  CertificateInvalid: { meaning: "`tls.crt` does not begin with a PEM certificate that can be read, or is larger than 128 KiB." },
  KeyInvalid: {
    meaning: "The Secret has no `tls.key`, or one that cannot be read: it is encrypted, larger than 32 KiB, or neither RSA, EC nor EdDSA.",
  },
  KeyMismatch: { meaning: "`tls.key` is not the key of the certificate." },
  AuthorityInvalid: { meaning: "`ca.crt` holds no certificate, or something that cannot be read as one." },
} as const satisfies ReasonTable;

/** What can be wrong with an object; with the one reason for which it counts all the same. */
export const problemReasons = {
  ...leftOutReasons,
  DuplicateId: { meaning: "Another object has the same id, so that the two cannot be told apart. Both count, as they do in Tengine's reader." },
  DuplicateNumber: {
    meaning:
      "Another object of the same scope, in another namespace or under another name, has the same number. Both count; give each a number of its own.",
  },
} as const satisfies ReasonTable;

/** What the condition `Current` of a checksum can say, and `IdsListed`. */
const conditionReasons = {
  Published: { meaning: "It is the checksum of the objects as they are.", health: "healthy" },
  Reached: { meaning: "It was announced, and its state is there.", health: "healthy" },
  Awaited: { meaning: "It was announced, and its state is still to come.", health: "progressing" },
  BatchAnnounced: {
    meaning: "Another state was announced; until that is there, or its time is over, nothing else is published.",
    health: "progressing",
  },
  Superseded: { meaning: "A newer checksum has taken its place.", health: "healthy" },
  LargeChange: {
    meaning:
      "More certificates than `--checksum.max-vanishing` or `--checksum.max-changing` allow went or changed at once, and nobody announced it. Nothing is published until it is undone, or let through by `keyturn checksum allow`.",
    health: "degraded",
  },
  Unannounced: {
    meaning: "Only what was announced and signed is published here, and objects are as nobody announced.",
    health: "degraded",
  },
  Unsigned: { meaning: "It is an announcement, and no key that counts here has signed it.", health: "degraded" },
  EmptySet: {
    meaning: "No object counts any more. A checksum of nothing is not published, so that gateways keep what they have.",
    health: "degraded",
    event: "none",
  },
  Paused: { meaning: "People asked for nothing to be published for now.", health: "paused" },
  TooManyIds: { meaning: "The ids do not fit into one object. The checksum is complete all the same.", health: "degraded", event: "none" },
} as const satisfies ReasonTable;

/** What an Event can say about a checksum, besides `Paused`. */
const eventReasons = {
  ChecksumPublished: { meaning: "A new state was published." },
  AnnouncementReached: { meaning: "An announced state is there.", notable: true },
  AnnouncementExpired: { meaning: "An announced state never came; the state as it is takes its place." },
  ChecksumDamaged: { meaning: "A checksum was changed by somebody else, and was made anew." },
} as const satisfies ReasonTable;

export const checksumReasons = { ...problemReasons, ...conditionReasons, ...eventReasons };

export type LeftOutReason = keyof typeof leftOutReasons;
export type ProblemReason = keyof typeof problemReasons;
export type ConditionReason = keyof typeof conditionReasons;
export type EventReason = keyof typeof eventReasons | "Paused";
