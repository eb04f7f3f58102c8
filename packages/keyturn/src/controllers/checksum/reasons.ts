// Why an object or a checksum is as it is: the words shared by status, conditions, Events, metrics and the documentation.

/** Why an object has no id, so that no checksum covers it. */
export type LeftOutReason =
  /** The name does not end in `-` and a number. */
  | "NumberMissing"
  /** None of the version annotations is there. */
  | "VersionMissing"
  /** The version annotation is not a whole number, or is 0, which stands for "no version". */
  | "VersionInvalid"
  /** The Secret has no `tls.crt`, or an empty one. */
  | "CertificateMissing"
  /** `tls.crt` does not begin with a PEM certificate that can be read, or is larger than 128 KiB. */
  | "CertificateInvalid"
  /** The Secret has no `tls.key`, or one that cannot be read: it is encrypted, larger than 32 KiB, or neither RSA, EC nor EdDSA. */
  | "KeyInvalid"
  /** `tls.key` is not the key of the certificate. */
  | "KeyMismatch";

/** What can be wrong with an object; with the one reason for which it counts all the same. */
export type ProblemReason =
  | LeftOutReason
  /** Another object has the same id, so that the two cannot be told apart. Both count, as they do in Tengine's reader. */
  | "DuplicateId";

/** What the condition `Current` of a checksum can say, and `IdsListed`. */
export type ConditionReason =
  /** It is the checksum of the objects as they are. */
  | "Published"
  /** It was announced, and its state is there. */
  | "Reached"
  /** It was announced, and its state is still to come. */
  | "Awaited"
  /** Another state was announced; until that is there, or its time is over, nothing else is published. */
  | "BatchAnnounced"
  /** A newer checksum has taken its place. */
  | "Superseded"
  /** No object counts any more. A checksum of nothing is not published, so that gateways keep what they have. */
  | "EmptySet"
  /** People asked for nothing to be published for now. */
  | "Paused"
  /** The ids do not fit into one object. The checksum is complete all the same. */
  | "TooManyIds";

/** What an Event can say about a checksum. */
export type EventReason =
  /** A new state was published. */
  | "ChecksumPublished"
  /** An announced state is there. */
  | "AnnouncementReached"
  /** An announced state never came; the state as it is takes its place. */
  | "AnnouncementExpired"
  /** A checksum was changed by somebody else, and was made anew. */
  | "ChecksumDamaged"
  /** People asked for nothing to be published for now. */
  | "Paused";
