// What holds up a target, or a whole set, and until when. Pure.
import { earliest } from "@keyturn/runtime";
import { pauseInWords } from "../../feature/pause-and-selection.ts";
import { highestVersion, logAnnotation } from "./api.ts";
import { latestTimeOf, recordName } from "./history.ts";
import type { Blocker, RecordObservation, SetObservation, SourceObservation, TargetObservation } from "./observe.ts";

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
        | "Paused"
        | "NotSelected";
      readonly message: string;
      /** When it ends by itself, if that is known. */
      readonly untilMs?: number | undefined;
    };

/** By so much clocks may differ; the runtime says when they do by more, and then no time can be believed: nothing is noted and nothing moves. */
export const maxSkewMs = 30_000;

/** A log that is further ahead than any clock can have been was not written by an operator. */
const maxAheadMs = 86_400_000;

/** What holds up the set before anything is planned: people, clocks, or a history that cannot be read or written. */
export function setBlockerOf(observation: SetObservation, nowMs: number, outerBlocker: SetBlocker | undefined): SetBlocker | undefined {
  const blocker = setBlockerByPeople(observation) ?? outerBlocker;
  if (blocker) return blocker;
  const damage = damageOf(observation, nowMs);
  return damage === undefined ? undefined : { reason: "HistoryDamaged", message: damage };
}

/** What is wrong with the history, if anything. */
export function damageOf(observation: SetObservation, nowMs: number): string | undefined {
  return observation.damage ?? damagedLogs(observation, nowMs);
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
  return `the log of version record ${damaged.toSorted().join(", ")} cannot be read or is of a time to come: put its annotation ${logAnnotation} back, or delete the record, and its version is given up`;
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
