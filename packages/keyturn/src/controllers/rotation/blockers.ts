// What holds up a target, or a whole set, and until when. Pure.
import { earliest } from "@keyturn/runtime";
import { pauseInWords } from "../../feature/pause-and-selection.ts";
import { giveUpAnnotation, highestVersion, logAnnotation } from "./api.ts";
import { type Commit, headRecord, heldBy, latestTimeOf, recordName } from "./history.ts";
import type { Blocker, RecordObservation, SetObservation, SourceObservation, TargetObservation } from "./observe.ts";
import { isProven } from "./seal.ts";

/** What holds up a whole set. */
export type SetBlocker =
  | { readonly reason: "NoSource" }
  | {
      readonly reason:
        | "SourceConflict"
        | "PathNotFound"
        | "InvalidPath"
        | "ContentTooLarge"
        | "ClockSkew"
        | "WriteRefused"
        | "HistoryDamaged"
        | "VersionLost"
        | "KindNotWatched"
        | "Paused"
        | "NotSelected";
      readonly message: string;
      /** When it ends by itself, if that is known. */
      readonly untilMs?: number | undefined;
    };

/** A log that is further ahead than any clock can have been was not written by an operator. */
const maxAheadMs = 86_400_000;

/** What holds up the set before anything is planned: people, clocks, or a history that cannot be read or written. */
export function setBlockerOf(observation: SetObservation, nowMs: number, outerBlocker: SetBlocker | undefined): SetBlocker | undefined {
  const blocker = setBlockerByPeople(observation) ?? outerBlocker ?? unwatchedBlocker(observation, nowMs);
  if (blocker) return blocker;
  const damage = damageOf(observation, nowMs);
  return damage === undefined ? undefined : { reason: "HistoryDamaged", message: damage };
}

/** What is wrong with the history, if anything. */
export function damageOf(observation: SetObservation, nowMs: number): string | undefined {
  return observation.damage ?? damagedLogs(observation, nowMs) ?? forgedRecords(observation);
}

/** Nothing tells when a kind is served again. */
const lookAgainMs = 60_000;

/** Kinds that the history knows and that are not watched: sources and objects that cannot be seen are not gone. */
function unwatchedBlocker({ unwatched }: SetObservation, nowMs: number): SetBlocker | undefined {
  if (unwatched.length === 0) return undefined;
  const kinds = unwatched.join(", ");
  return {
    reason: "KindNotWatched",
    message: `the set's versions are ${kinds}, which this operator does not watch: start it with --rotation.kinds for ${kinds}, and see that the API server serves it`,
    untilMs: nowMs + lookAgainMs,
  };
}

/** Contents that targets hold, or are to get, and that are nowhere. */
export function lostBlocker({ namespace, set }: SetObservation, lost: readonly Commit[]): SetBlocker {
  const what = lost.map(({ seq, at }) => `version ${seq}${Object.keys(at).length > 0 ? ` (of ${Object.keys(at).toSorted().join(", ")})` : ""}`);
  const records = lost.map(({ seq }) => `${namespace}/${recordName(set, seq)}`).join(", ");
  return {
    reason: "VersionLost",
    message: `${what.join(", ")} is in no record and no object: restore Secret ${records} from a backup, or annotate a target of the set with ${giveUpAnnotation}: "${lost.map(({ seq }) => seq).join(",")}"`,
  };
}

/**
 * Objects in their targets' own places of which nobody can say what they hold: their annotations are lost or not believed, and the log does not know, or is
 * an older one because the newest was lost, or may have been left behind by a crash, since they have the content of a later version.
 */
export function unknownBlocker({ targets, records }: SetObservation, commits: readonly Commit[]): SetBlocker | undefined {
  const isHeadLost = (commits.at(-1)?.seq ?? 0) > Math.max(0, ...records.map(({ seq }) => seq));
  const unknown = targets.flatMap(({ name: target, objectName, objects }) => {
    const held = heldBy(target, commits);
    return objects
      .filter(({ ours, name, applied, isOfOtherSet }) => ours && name === objectName && !applied && !isOfOtherSet)
      .filter(({ digest }) => {
        const isLater = records.some((record) => record.seq > (held?.seq ?? 0) && record.digest === digest);
        return !held || (held.digest !== digest && (isHeadLost || isLater));
      })
      .map(({ resource, name }) => `${resource}/${name}`);
  });
  if (unknown.length === 0) return undefined;
  const message = `the annotations of ${unknown.toSorted().join(", ")} do not say which version it holds, and neither does the history: put them back, or delete it`;
  return { reason: "HistoryDamaged", message };
}

/** The numbers of versions have come to their end. */
export function usedUpBlocker(observation: SetObservation): SetBlocker {
  return { reason: "HistoryDamaged", message: usedUp(observation) };
}

/** The blockers by the names of the targets. A target that is blocked keeps its rank and what it holds; the ranks after it wait. */
export function blockersOf(targets: readonly TargetObservation[], sources: readonly SourceObservation[]): ReadonlyMap<string, Blocker> {
  return new Map(
    targets.flatMap((target) => {
      const blocker = target.blocker ?? ownSource(target, sources) ?? nameConflict(target);
      return blocker ? [[target.name, blocker] as const] : [];
    }),
  );
}

/** What was observed may be looked at again later, when some of its pauses are over. */
export function withoutPastPauses(observation: SetObservation, nowMs: number): SetObservation {
  const isPast = (end: { readonly untilMs?: number | undefined } | undefined): boolean => end?.untilMs !== undefined && end.untilMs <= nowMs;
  const { sources, targets } = observation;
  if (!sources.some(({ pause }) => isPast(pause)) && !targets.some(({ blocker }) => isPast(blocker))) return observation;
  return {
    ...observation,
    sources: sources.map((source) => (isPast(source.pause) ? without(source, "pause") : source)),
    targets: targets.map((target) => (isPast(target.blocker) ? without(target, "blocker") : target)),
  };
}

/** When the blocker of a set, or the pause of one of its targets, ends by itself. */
export function endOfBlockers(setBlocker: SetBlocker | undefined, blockers: ReadonlyMap<string, Blocker>): number | undefined {
  return earliest([setBlocker && "untilMs" in setBlocker ? setBlocker.untilMs : undefined, ...pauseEnds(blockers)]);
}

/** When each of the pauses ends, as far as that is known. */
export function pauseEnds(blockers: ReadonlyMap<string, Blocker>): readonly (number | undefined)[] {
  return [...blockers.values()].map(({ untilMs }) => untilMs);
}

/** People asked for nothing to move: on the source, or on every target; or they left some targets to somebody else. */
function setBlockerByPeople({ sources, targets }: SetObservation): SetBlocker | undefined {
  const foreign = targets.find(({ blocker }) => blocker?.reason === "NotSelected");
  if (foreign) {
    const message = `target ${foreign.name} of the same set is outside of --selector; label all targets of a set alike`;
    return { reason: "NotSelected", message };
  }
  const source = sources.find(({ pause }) => pause);
  if (source?.pause) {
    const { pause, resource, name } = source;
    return { reason: "Paused", message: `the source ${resource}/${name} is ${pauseInWords(pause)}`, untilMs: pause.untilMs };
  }
  const [first] = targets;
  const all = targets.every(({ blocker }) => blocker?.reason === "Paused");
  return all && first?.blocker ? { reason: "Paused", message: first.blocker.message } : undefined;
}

/** What is wrong with the log of the newest records, if anything. Whoever goes on without it forgets versions that targets still hold. Logs of older records are of no use any more. */
function damagedLogs({ namespace, set, records }: SetObservation, nowMs: number): string | undefined {
  const isSound = ({ log }: RecordObservation): boolean => log !== undefined && latestTimeOf(log) <= nowMs + maxAheadMs;
  const newest = Math.max(0, ...records.filter(isSound).map(({ seq }) => seq));
  const damaged = records.filter(({ seq }) => seq > newest).map(({ seq }) => `${namespace}/${recordName(set, seq)}`);
  if (damaged.length === 0) return undefined;
  return `the log of version record ${damaged.toSorted().join(", ")} cannot be read or is of a time to come: put its annotation ${logAnnotation} back, or delete the record, and it is made again from an object that has its content, if there is one`;
}

/**
 * Records that are about another content than the log says, or that somebody else has written or edited. Where no proof holds, the key was lost; and only
 * records of an earlier release have none, which are older than all that have one.
 */
function forgedRecords(observation: SetObservation): string | undefined {
  const { namespace, set, records } = observation;
  const head = headRecord(records);
  const digests = new Map(head?.log?.commits.map(({ seq, digest }) => [seq, digest]));
  const isProvenSet = isProven(observation);
  const isForged = (record: RecordObservation): boolean => {
    const { seq, digest, proof } = record;
    return (digests.get(seq) ?? digest) !== digest || (isProvenSet && (proof === "invalid" || (record === head && proof !== "valid")));
  };
  const forged = records.filter(isForged).map(({ seq }) => `${namespace}/${recordName(set, seq)}`);
  if (forged.length === 0) return undefined;
  return `version record ${forged.toSorted().join(", ")} is not what the operator has written: put its annotations back, or delete it, and it is made again from an object that has its content, if there is one`;
}

/** Who has the last number, or its name. */
function usedUp({ set, records, targets, takenSeqs }: SetObservation): string {
  const claims = [
    ...targets
      .flatMap(({ objects }) => objects.filter(({ applied }) => applied?.seq === highestVersion))
      .map(({ resource, name }) => `${resource}/${name}`),
    ...records
      .filter(({ seq, log }) => seq === highestVersion || log?.commits.some((commit) => commit.seq === highestVersion))
      .map(({ seq }) => `secrets/${recordName(set, seq)}`),
    ...takenSeqs.filter((seq) => seq === highestVersion).map((seq) => `secrets/${recordName(set, seq)}`),
  ];
  return `versions are counted up to ${highestVersion}, and ${[...new Set(claims)].join(", ")} claims the last of them: delete that record or object`;
}

function ownSource({ objects }: TargetObservation, sources: readonly SourceObservation[]): Blocker | undefined {
  const source = sources.find(({ uid }) => objects.some((object) => object.uid === uid));
  return (
    source && {
      reason: "SourceConflict",
      message: `${source.resource}/${source.name} is this target's object and is marked as the source; it was left as it is`,
    }
  );
}

function nameConflict({ objects, objectName }: TargetObservation): Blocker | undefined {
  const foreign = objects.find(({ ours, name }) => !ours && name === objectName);
  if (!foreign) return undefined;
  const what = `${foreign.resource}/${foreign.name}`;
  return {
    reason: "NameConflict",
    message: `${what} exists and is not this target's; it was left as it is: remove it, or choose another targetName`,
  };
}

function without<T extends object, Key extends keyof T>(object: T, key: Key): Omit<T, Key> {
  const { [key]: _, ...rest } = object;
  return rest;
}
