// What can stand against adopting what the API server says, and what is done about each: the words shared by flags, status, log, metrics and docs.

/** What to do when something stands against a set: stay with what is promoted, or adopt it all the same. */
export type Policy = "keep" | "promote";

type PolicyRows = Readonly<Record<string, { readonly flag: string; readonly help: string }>>;

/** What can be wrong with one Secret: it stays as it is served, and the others go on. */
const secretPolicies = {
  BadCertificate: {
    flag: "bad-certificate",
    help: "a promoted Secret now has a certificate or key that cannot be read, or a key that is not its certificate's",
  },
  LeftOut: { flag: "left-out", help: "a promoted Secret is still there and no longer counts, because its version is gone" },
  OlderCertificate: {
    flag: "older-certificate",
    help: "a certificate would be replaced by an older one, as after a restored backup, and nobody announced it",
  },
  InvalidDates: { flag: "invalid-dates", help: "a certificate that has expired, or does not hold yet, would replace one that holds" },
  Unannounced: {
    flag: "unannounced",
    help: "with --checksum.announcement-keys, a Secret has changed, come or gone and no signed announcement says so",
  },
} as const satisfies PolicyRows;

/** The situations for which there is a policy; each has a flag `--on-<name>`. */
export const alarmPolicies = {
  MissingCrd: { flag: "missing-crd", help: "the API server does not serve SecretCheckSum" },
  NoChecksum: { flag: "no-checksum", help: "there is no checksum object in the namespace" },
  StaleChecksum: { flag: "stale-checksum", help: "the Secrets have differed from every checksum for longer than --stale-after" },
  SecretsGone: { flag: "secrets-gone", help: "all Secrets are gone, and no checksum says that they should be" },
  EmptySet: { flag: "empty-set", help: "there is no Secret to serve, and a checksum says so too" },
  RollBack: { flag: "roll-back", help: "the Secrets match only a checksum that is older than one that was matched before" },
  LargeChange: {
    flag: "large-change",
    help: "more certificates than --checksum.max-vanishing or --checksum.max-changing allow would go or change at once, and nobody announced it",
  },
  ...secretPolicies,
} as const satisfies PolicyRows;

/** A situation with a policy. */
export type Situation = keyof typeof alarmPolicies;

/** Those that are about one Secret. */
export type SecretSituation = keyof typeof secretPolicies;

/** All of them, in the order of the table. */
export const situationNames = Object.keys(alarmPolicies) as readonly Situation[];

/** What is done in each situation. */
export type Policies = Readonly<Record<Situation, Policy>>;

/** Why the agent raises an alarm. */
export type Alarm =
  | Situation
  /** The Secrets match no checksum. */
  | "Mismatch"
  /** A certificate that is being served has expired. */
  | "ServedExpired"
  /** The API server does not answer, or refuses, so nothing can be verified. */
  | "Unreachable"
  /** Files of a promoted generation are missing, torn or edited. */
  | "Damaged"
  /** A set that should be promoted could not be written, as on a full disk. */
  | "PromotionFailed"
  /** The command or signal that follows a promotion fails. */
  | "CommandFailed";

/** Every alarm, for metrics that start at zero. */
export const alarmNames: readonly Alarm[] = [
  ...situationNames,
  "Mismatch",
  "ServedExpired",
  "Unreachable",
  "Damaged",
  "PromotionFailed",
  "CommandFailed",
];
