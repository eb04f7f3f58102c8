// What the agent does with what it sees: adopt it, or stay with what it has and say exactly why. Pure.
import {
  type Stamp,
  compareStamps,
  differenceInWords,
  differencesTo,
  isOfState,
  newestFirst,
  type ObservedChecksum,
  type ObservedSet,
  type SecretDifference,
} from "../controllers/checksum/difference.ts";
import type { Manifest, SecretEntry } from "./snapshots.ts";
import type { Alarm, Policies, Situation } from "./alarm-policies.ts";

/** Everything that a decision is made from. */
export interface Observation {
  /** Undefined until the first list is complete. */
  readonly secrets: ObservedSet | undefined;
  /** `unknown` until the first list is complete; `missing` if the kind is not served. */
  readonly checksums: readonly ObservedChecksum[] | "unknown" | "missing";
  readonly promoted: Manifest | undefined;
  /** Whether the promoted files are what they should be. */
  readonly isWhole: boolean;
  /** How new the newest checksum object is that was ever matched. */
  readonly stamp: Stamp | undefined;
  /** Since when no checksum has matched; undefined if one did at the last look. */
  readonly differsSinceMs: number | undefined;
}

/** How to decide. */
export interface DecisionRules {
  readonly policies: Policies;
  /** From when on a difference means that the checksum is stale. */
  readonly staleAfterMs: number;
  /** A difference this short is the usual course of a change and raises no alarm. */
  readonly alarmAfterMs: number;
}

/** Something that stands against a set, or is wrong with what is served. */
interface Objection {
  readonly situation: Situation | "Mismatch" | "ServedExpired";
  readonly message: string;
}

/** What to do and what to say. */
export interface Decision {
  /**
   * `waiting`: not enough is known yet. `verified`: what is promoted is what is there, and a checksum says so. `promote`: adopt what is there.
   * `holding`: stay with what is promoted, because of `objections`.
   */
  readonly state: "waiting" | "verified" | "promote" | "holding";
  readonly objections: readonly Objection[];
  /** Those that somebody should look at. */
  readonly alarms: readonly Alarm[];
  /** The checksum object that matches. */
  readonly match: ObservedChecksum | undefined;
  /** The one that differences are reported against: the newest there is. */
  readonly reference: ObservedChecksum | undefined;
  readonly differences: readonly SecretDifference[];
  readonly differsSinceMs: number | undefined;
  /** When to decide again if nothing changes. */
  readonly nextMs: number | undefined;
}

/** Decides. The same observation, rules and time give the same decision. */
export function decide(observation: Observation, rules: DecisionRules, nowMs: number): Decision {
  const { secrets, checksums, promoted, isWhole, stamp, differsSinceMs } = observation;
  const served = servedExpired(promoted, nowMs);
  if (!secrets || checksums === "unknown") {
    const nothing = { match: undefined, reference: undefined, differences: [], nextMs: undefined };
    return { state: "waiting", objections: served, alarms: served.map(({ situation }) => situation), differsSinceMs, ...nothing };
  }
  const objects = checksums === "missing" ? [] : newestFirst(checksums);
  const match = objects.find((object) => isOfState(object, secrets.state));
  const [reference] = objects;
  const since = match ? undefined : (differsSinceMs ?? nowMs);
  const differences = match || !reference?.ids ? [] : differencesTo(reference.ids, secrets, promoted?.secrets);

  // A batch that was announced is awaited until its time is over, unless it was there already.
  const isReached = reference !== undefined && stamp !== undefined && compareStamps(reference.stamp, stamp) <= 0;
  const awaitedUntilMs = isReached ? 0 : (reference?.announcedUntilMs ?? 0);
  const isAwaited = awaitedUntilMs > nowMs;
  const isStale = isOver(since, rules.staleAfterMs, nowMs) && !isAwaited;

  const isInPlace = promoted !== undefined && isWhole && isSameSet(promoted, secrets);
  const against = [
    ...verificationObjections(observation, { secrets, match, reference, differences, isStale }),
    ...(isInPlace ? [] : contentObjections(secrets, promoted, nowMs)),
  ];
  const isHeld = against.some(({ situation }) => situation === "Mismatch" || situation === "ServedExpired" || rules.policies[situation] === "keep");
  const state = isInPlace ? (match ? "verified" : "holding") : isHeld ? "holding" : "promote";
  const objections = [...(state === "verified" ? [] : against), ...served];

  const isExpected = isAwaited || !isOver(since, rules.alarmAfterMs, nowMs);
  const moments = since === undefined ? [] : [since + rules.alarmAfterMs, since + rules.staleAfterMs, awaitedUntilMs];
  return {
    state,
    objections,
    alarms: objections.map(({ situation }) => situation).filter((situation) => situation !== "Mismatch" || !isExpected),
    match,
    reference,
    differences,
    differsSinceMs: since,
    nextMs: moments.filter((moment) => moment > nowMs).toSorted((a, b) => a - b)[0],
  };
}

interface Verification {
  readonly secrets: ObservedSet;
  readonly match: ObservedChecksum | undefined;
  readonly reference: ObservedChecksum | undefined;
  readonly differences: readonly SecretDifference[];
  readonly isStale: boolean;
}

/** What stands against the set as a whole. */
function verificationObjections({ checksums, stamp }: Observation, facts: Verification): readonly Objection[] {
  const { secrets, match, reference, differences, isStale } = facts;
  const isEmpty = secrets.state.ids.length === 0;
  if (match) {
    if (isEmpty) return [{ situation: "EmptySet", message: `there is no Secret to serve, and checksum ${match.name} says so too` }];
    if (!stamp || compareStamps(match.stamp, stamp) >= 0) return [];
    const when = `${new Date(match.stamp.timestampMs).toISOString()}, and one of ${new Date(stamp.timestampMs).toISOString()} was matched before`;
    return [{ situation: "RollBack", message: `the Secrets match checksum ${match.name} of ${when}` }];
  }
  if (checksums === "missing") return [{ situation: "MissingCrd", message: "the API server does not serve SecretCheckSum; install its CRD" }];
  if (!reference) return [{ situation: "NoChecksum", message: "there is no checksum object in the namespace" }];
  if (isEmpty) return [{ situation: "SecretsGone", message: `there is no Secret to serve, and checksum ${reference.name} has some` }];
  const what = mismatchInWords(reference, differences);
  return [isStale ? { situation: "StaleChecksum", message: `for too long already, ${what}` } : { situation: "Mismatch", message: what }];
}

/** What stands against single certificates of a set that is not promoted yet: one objection per situation, however many Secrets are in it. */
function contentObjections({ secrets }: ObservedSet, promoted: Manifest | undefined, nowMs: number): readonly Objection[] {
  const found = Object.entries(promoted?.secrets ?? {}).flatMap(([name, before]): readonly Objection[] => {
    const secret = secrets.get(name);
    if (!secret) return [];
    if (secret.member.state === "leftOut") {
      const { reason } = secret.member;
      const situation = reason === "VersionMissing" || reason === "VersionInvalid" ? "LeftOut" : "BadCertificate";
      return [{ situation, message: `${name} is served, is still there, and does not count: ${reason}` }];
    }
    if (holds(secret, nowMs) || !holds(before, nowMs)) return [];
    return [{ situation: "InvalidDates", message: `${name} would be replaced by a certificate that ${datesInWords(secret, nowMs)}` }];
  });
  const bySituation = Map.groupBy(found, ({ situation }) => situation);
  return Array.from(bySituation, ([situation, each]) => ({
    situation,
    message: listed(
      each.map(({ message }) => message),
      "; ",
    ),
  }));
}

function servedExpired(promoted: Manifest | undefined, nowMs: number): readonly Objection[] {
  const expired = Object.entries(promoted?.secrets ?? {}).filter(([, { notAfterMs }]) => notAfterMs !== undefined && notAfterMs <= nowMs);
  if (expired.length === 0) return [];
  return [{ situation: "ServedExpired", message: `certificates that are served have expired: ${listed(expired.map(([name]) => name))}` }];
}

function mismatchInWords({ name, announcedUntilMs, ids }: ObservedChecksum, differences: readonly SecretDifference[]): string {
  const which = announcedUntilMs === undefined ? `checksum ${name}` : `the announced checksum ${name}`;
  if (differences.length > 0) return `the Secrets differ from ${which}: ${listed(differences.map(differenceInWords), "; ")}`;
  if (!ids) return `the Secrets differ from ${which}, which does not list its ids`;
  return `the ids are those of ${which}, and contents that they do not cover (chain, key, CA) differ`;
}

function isSameSet(promoted: Manifest, { state, secrets }: ObservedSet): boolean {
  const names = Object.keys(promoted.secrets);
  if (names.length !== state.ids.length) return false;
  return names.every((name) => {
    const member = secrets.get(name)?.member;
    const before = promoted.secrets[name];
    return member?.state === "counted" && member.id === before?.id && member.digest === before.digest;
  });
}

function isOver(sinceMs: number | undefined, lengthMs: number, nowMs: number): boolean {
  return sinceMs !== undefined && nowMs - sinceMs >= lengthMs;
}

type Dates = Pick<SecretEntry, "notBeforeMs" | "notAfterMs">;

function holds({ notBeforeMs = -Infinity, notAfterMs = Infinity }: Dates, nowMs: number): boolean {
  return notBeforeMs <= nowMs && nowMs < notAfterMs;
}

function datesInWords({ notAfterMs = Infinity }: Dates, nowMs: number): string {
  return notAfterMs <= nowMs ? "has expired" : "does not hold yet";
}

/** The first few of a list that may be long. */
function listed(texts: readonly string[], separator = ", "): string {
  const shown = 10;
  const rest = texts.length - shown;
  return `${texts.slice(0, shown).join(separator)}${rest > 0 ? `${separator}and ${rest} more` : ""}`;
}
