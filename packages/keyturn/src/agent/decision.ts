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
import { type AnnouncedChange, isOfWholeState, withNamedChanges } from "../controllers/checksum/announcement.ts";
import { type ChangeLimits, countNamedChanges, excessOf, type Peaks, peaksOf, sincePeak, withMeant } from "../controllers/checksum/blast-radius.ts";
import type { Manifest } from "./manifest.ts";
import type { Alarm, Policies, Situation } from "./alarm-policies.ts";
import { statementsOf } from "./statements.ts";
import { type HeldSecret, isPromoted, type TargetSet, targetSetOf } from "./target-set.ts";

/** Everything that a decision is made from. */
export interface Observation {
  /** Undefined until the first list is complete. */
  readonly secrets: ObservedSet | undefined;
  /** `unknown` until the first list is complete; `missing` if the kind is not served. */
  readonly checksums: readonly ObservedChecksum[] | "unknown" | "missing";
  readonly promoted: Manifest | undefined;
  /** Whether the promoted files are what they should be. */
  readonly isWhole: boolean;
  /** Promoted Secrets of which nothing whole is on the disk any more. */
  readonly broken: ReadonlySet<string>;
  /** How new the newest checksum object is that was ever matched. */
  readonly stamp: Stamp | undefined;
  /** Since when no checksum has matched; undefined if one did at the last look. */
  readonly differsSinceMs: number | undefined;
  /** Since when a large change has been held; undefined if none was at the last look. */
  readonly largeChangeSinceMs: number | undefined;
}

/** How to decide. */
export interface DecisionRules {
  readonly policies: Policies;
  /** From when on a difference means that the checksum is stale. */
  readonly staleAfterMs: number;
  /** A difference this short is the usual course of a change and raises no alarm. */
  readonly alarmAfterMs: number;
  /** How much may go or change at once without being announced. */
  readonly limits: ChangeLimits;
  /** Only what signed announcements say is adopted, Secret by Secret. The checksums that are given have been checked. */
  readonly signedOnly: boolean;
}

/** Something that stands against a set, or is wrong with what is served. */
interface Objection {
  readonly situation: Situation | "Mismatch" | "ServedExpired";
  readonly message: string;
}

/** What to do and what to say. */
export interface Decision {
  /**
   * `waiting`: not enough is known yet. `verified`: what is promoted is what should be, and a checksum says so. `promote`: adopt `target`.
   * `holding`: stay with what is promoted, because of `objections`.
   */
  readonly state: "waiting" | "verified" | "promote" | "holding";
  readonly objections: readonly Objection[];
  /** What should be served; undefined while too little is known. */
  readonly target: TargetSet | undefined;
  /** How large the set was lately, to be remembered with what is promoted; undefined if that does not matter. */
  readonly peaks: Peaks | undefined;
  /** Those that somebody should look at. */
  readonly alarms: readonly Alarm[];
  /** The checksum object that matches. */
  readonly match: ObservedChecksum | undefined;
  /** The one that differences are reported against: the newest there is. */
  readonly reference: ObservedChecksum | undefined;
  readonly differences: readonly SecretDifference[];
  readonly differsSinceMs: number | undefined;
  readonly largeChangeSinceMs: number | undefined;
  /** When to decide again if nothing changes. */
  readonly nextMs: number | undefined;
}

/** Decides. The same observation, rules and time give the same decision. */
export function decide(observation: Observation, rules: DecisionRules, nowMs: number): Decision {
  const { secrets, checksums, promoted, isWhole, broken, stamp, differsSinceMs, largeChangeSinceMs } = observation;
  const served = servedExpired(promoted, nowMs);
  if (!secrets || checksums === "unknown") {
    const nothing = { target: undefined, peaks: undefined, match: undefined, reference: undefined, differences: [], nextMs: undefined };
    return { state: "waiting", objections: served, alarms: served.map(({ situation }) => situation), differsSinceMs, largeChangeSinceMs, ...nothing };
  }
  const objects = checksums === "missing" ? [] : newestFirst(checksums);
  const match = objects.find((object) => isOfState(object, secrets.state));
  const [reference] = objects;
  // A clock that was set back must not put an alarm off.
  const since = match ? undefined : Math.min(differsSinceMs ?? nowMs, nowMs);
  const differences = match || !reference?.ids ? [] : differencesTo(reference.ids, secrets, promoted?.secrets);

  // A batch that was announced is awaited until its time is over, unless it was there already.
  const isAwaitable = ({ stamp: own, changes: single }: ObservedChecksum): boolean =>
    single !== undefined || stamp === undefined || compareStamps(own, stamp) > 0;
  const awaitedUntilMs = Math.max(0, ...objects.filter(isAwaitable).map(({ announcedUntilMs = 0 }) => announcedUntilMs));
  const isAwaited = awaitedUntilMs > nowMs;
  const isStale = isOver(since, rules.staleAfterMs, nowMs) && !isAwaited;

  // One that was there before says nothing about what came after it.
  const isNew = (object: ObservedChecksum): boolean => stamp === undefined || compareStamps(object.stamp, stamp) >= 0;
  const announced = objects.filter((object) => object.isAnnounced === true && isNew(object));
  // A batch stands for its own changes; what else went while it was announced is not meant for that.
  const isWholeMeant = announced.some((object) => isOfWholeState(object.changes) && isOfState(object, secrets.state));
  const changes = announced.toReversed().flatMap((object) => object.changes ?? []);
  const isAnnounced = (name: string, id: string): boolean => isWholeMeant || changes.some((change) => change.name === name && change.to === id);
  const isGivenUp = (name: string, id: string): boolean =>
    isWholeMeant || changes.some((change) => change.to === undefined && (change.name === name || (change.name === "" && change.from === id)));
  const statements = rules.signedOnly ? statementsOf(objects, secrets, nowMs) : undefined;
  const target = targetSetOf({ observed: secrets, promoted, broken, policies: rules.policies, isAnnounced, isGivenUp, statements }, nowMs);
  const isInPlace = promoted !== undefined && isWhole && isPromoted(promoted, target);
  const isKept = ({ situation }: Objection): boolean =>
    situation === "Mismatch" || situation === "ServedExpired" || rules.policies[situation] === "keep";
  const unverified = verificationObjections(observation, {
    secrets,
    match,
    reference,
    differences,
    isStale,
    signedOnly: rules.signedOnly,
    isAnyServed: Object.keys(target.secrets).length > 0,
  });
  const isMeant = isInPlace || isWholeMeant || rules.signedOnly;
  const isHeldAnyway = unverified.some(isKept);
  const before = promoted && servedBefore(promoted, changes, { nowMs, largeChangeSinceMs });
  const large = before && !isMeant && !isHeldAnyway ? largeChange(before, target, rules.limits) : [];
  const against = [...unverified, ...large];
  const kept = new Set(target.held.flatMap(({ secret, situation }) => (rules.policies[situation] === "keep" ? [secret] : [])));
  const servedNames = Object.keys(promoted?.secrets ?? {});
  // One that is held says nothing against the others; but somebody has to be as it should.
  const isAnyAsLive = servedNames.length === 0 || !servedNames.every((name) => kept.has(name));
  const isVerified = isAnyAsLive && (rules.signedOnly ? unverified.length === 0 : match !== undefined);
  const state = isInPlace ? (isVerified ? "verified" : "holding") : against.some(isKept) ? "holding" : "promote";
  const objections = [...(state === "verified" ? [] : against), ...heldObjections(target.held), ...served];

  const isExpected = isAwaited || !isOver(since, rules.alarmAfterMs, nowMs);
  const moments = since === undefined ? [] : [since + rules.alarmAfterMs, since + rules.staleAfterMs, awaitedUntilMs];
  return {
    state,
    objections,
    target,
    peaks: isWholeMeant || rules.signedOnly ? undefined : before?.peaks,
    alarms: objections.map(({ situation }) => situation).filter((situation) => situation !== "Mismatch" || !isExpected),
    match,
    reference,
    differences,
    differsSinceMs: since,
    // While the set cannot be judged, what was held is held.
    largeChangeSinceMs: large.length > 0 ? (largeChangeSinceMs ?? nowMs) : isHeldAnyway && !isMeant ? largeChangeSinceMs : undefined,
    nextMs: moments.filter((moment) => moment > nowMs).toSorted((a, b) => a - b)[0],
  };
}

interface Verification {
  readonly secrets: ObservedSet;
  readonly match: ObservedChecksum | undefined;
  readonly reference: ObservedChecksum | undefined;
  readonly differences: readonly SecretDifference[];
  readonly isStale: boolean;
  readonly signedOnly: boolean;
  /** Whether the target has any Secret. */
  readonly isAnyServed: boolean;
}

/** What stands against the set as a whole. */
function verificationObjections({ checksums, stamp }: Observation, facts: Verification): readonly Objection[] {
  const { secrets, match, reference, differences, isStale, signedOnly, isAnyServed } = facts;
  // Each Secret has a word of its own, or stays as it is.
  if (signedOnly && reference) {
    if (isAnyServed) return [];
    return [{ situation: "EmptySet", message: "there is no Secret to serve, by the words that somebody has signed" }];
  }
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

/** Secrets that are held, or would be: one objection per situation, however many Secrets are in it. */
function heldObjections(held: readonly HeldSecret[]): readonly Objection[] {
  const bySituation = Map.groupBy(held, ({ situation }) => situation);
  return Array.from(bySituation, ([situation, each]) => ({
    situation,
    message: listed(
      each.map(({ message }) => message),
      "; ",
    ),
  }));
}

/** What is served until now, with what was announced laid over it. */
interface ServedBefore {
  /** By name. */
  readonly ids: ReadonlyMap<string, string>;
  readonly peaks: ReturnType<typeof peaksOf>;
  /** The same when a large change was first held, if one is: what somebody has to look at does not go through when nobody does. */
  readonly peaksWhenHeld: ReturnType<typeof peaksOf>;
}

function servedBefore(
  { secrets, peaks = [] }: Manifest,
  changes: readonly AnnouncedChange[],
  { nowMs, largeChangeSinceMs = nowMs }: { readonly nowMs: number; readonly largeChangeSinceMs: number | undefined },
): ServedBefore {
  const served = knownIds(secrets);
  const ids = withNamedChanges(served, changes);
  const earlier = withMeant(peaks, ids.size - served.size);
  return { ids, peaks: peaksOf(ids.size, earlier, nowMs), peaksWhenHeld: peaksOf(ids.size, earlier, largeChangeSinceMs) };
}

/** What stands against a set that would take much of what is promoted away. */
function largeChange({ ids, peaksWhenHeld }: ServedBefore, { secrets }: TargetSet, limits: ChangeLimits): readonly Objection[] {
  const wanted = knownIds(secrets);
  const excess = excessOf(sincePeak(countNamedChanges(ids, wanted), peaksWhenHeld, wanted.size), limits);
  if (excess === undefined) return [];
  return [{ situation: "LargeChange", message: `${excess}, and nobody announced it; if it is meant, run \`keyturn checksum allow\` there` }];
}

/** The id of what was saved from a damaged disk is not known. */
function knownIds(secrets: TargetSet["secrets"]): ReadonlyMap<string, string> {
  return new Map(Object.entries(secrets).flatMap(([name, { id }]) => (id === "" ? [] : [[name, id] as const])));
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

function isOver(sinceMs: number | undefined, lengthMs: number, nowMs: number): boolean {
  return sinceMs !== undefined && nowMs - sinceMs >= lengthMs;
}

/** The first few of a list that may be long. */
function listed(texts: readonly string[], separator = ", "): string {
  const shown = 10;
  const rest = texts.length - shown;
  return `${texts.slice(0, shown).join(separator)}${rest > 0 ? `${separator}and ${rest} more` : ""}`;
}
