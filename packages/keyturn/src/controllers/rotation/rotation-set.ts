// What is known of a rotation set: what each target held and holds, and what comes, from the operator's own forecast. Reads no content.
import type { Health, NextStep, ObjectRef, ObjectReport } from "@keyturn/dashboard/contract";
import { type DeepReadonly, earliest, findCondition, type Kind, resourceOf, type Stored } from "@keyturn/runtime";
import {
  againAtMs,
  compareReports,
  defined,
  earlierNext,
  type HealthReport,
  healthReportOf,
  objectRef,
  objectReport,
  readyHealth,
  type RecordBase,
  timeMs,
  unlessOverdue,
} from "../../feature/record.ts";
import { targetRules, withBelievedAnnotations } from "./annotations.ts";
import { promoteAnnotation, promotedOf, RotationTarget } from "./api.ts";
import { forecast } from "./forecast.ts";
import type { Commit, RotationLog } from "./history.ts";
import type { Blocker, ObjectObservation, RecordObservation, SetObservation, SourceObservation, TargetObservation } from "./observe.ts";
import { gapMsOf, ranksOf } from "./shape.ts";

/** A stretch of time in which a target held a version. */
export interface HeldStretch {
  /** Counts the states of the source. */
  readonly seq: number;
  /** Like all digests here: the one that a status has, by which nobody can check guesses. Absent for a version that no target holds. */
  readonly digest?: string;
  readonly fromMs: number;
  /** Absent for the version that is held now. */
  readonly toMs?: number;
  /** Only filled in, because there is no older version for this target. */
  readonly backfilled: boolean;
}

/** Something that will happen if nothing changes but the time. */
export interface PlannedStep {
  readonly atMs: number;
  /** The version that the target gets; absent if its object is deleted. */
  readonly seq?: number;
  readonly digest?: string;
}

/** A target of a set. */
export interface RotationLane extends ObjectReport {
  /** The object that is kept for it; absent while there is none. */
  readonly object?: ObjectRef;
  /** The place in the chain, counted from 1. Targets of one rank stand side by side. */
  readonly rank: number;
  readonly delayMs: number;
  /** The last version that somebody has promoted. */
  readonly promoted?: number;
  /** Oldest first; the last without `toMs` is live. Reaches back as far as the cluster, or else this process, remembers. */
  readonly held: readonly HeldStretch[];
  /** In the order of time. */
  readonly planned: readonly PlannedStep[];
  /** How long a version is in no target at all on its way here; 0 if never. */
  readonly gapMs: number;
}

/** A state of the source that is remembered. */
export interface RotationVersion {
  readonly seq: number;
  readonly digest?: string;
  readonly seenMs: number;
}

/** A stretch of time that does not count, because the source was gone or unreadable. */
interface FreezeStretch {
  readonly fromMs: number;
  /** Absent while it lasts. */
  readonly toMs?: number;
}

/** A rotation set. Its `ref` is the target of the first rank; conditions are with the lanes, and here there are none. */
export interface RotationSet extends RecordBase {
  readonly set: string;
  /** Absent while there is none, or more than one. */
  readonly source?: ObjectRef;
  /** Since when the source has been what it is. */
  readonly sourceSinceMs?: number;
  readonly policy: "Settled" | "Queue";
  /** By rank, then by name. */
  readonly lanes: readonly RotationLane[];
  /** Newest first. */
  readonly versions: readonly RotationVersion[];
  readonly frozen: readonly FreezeStretch[];
}

// How one target fares.

/** From the target as it is stored: when its next version comes is what the plan has written there. */
export function targetReport(target: ShownTarget, nowMs: number): ObjectReport {
  const { metadata, spec, status } = target;
  const { rotationSet, rotationOrder, targetName = metadata.name } = spec;
  const version = status?.currentVersion ? `v${status.currentVersion.seq}` : "no version";
  const report = objectReport(RotationTarget, target, {
    ...targetHealth(target),
    detail: `set ${rotationSet}, order ${rotationOrder}, ${version}`,
    about: [...new Set([metadata.name, targetName, rotationSet, ...(status?.sourceRef ? [status.sourceRef.name] : [])])],
    next: nextOf(target),
  });
  return unlessOverdue(report, nowMs);
}

function targetHealth(target: ShownTarget): HealthReport {
  const report = readyHealth(target, healthOf);
  const progressing = findCondition(target.status?.conditions, "Progressing");
  // Ready, and nothing moves all the same. Without a source that was somebody's wish; a set that was changed goes on by itself.
  // A pause shows in Ready as well.
  const isHeldUp = progressing?.status === "False" && progressing.reason !== "NoSource" && progressing.reason !== "SetChanged";
  return isHeldUp && (report.health === "healthy" || report.health === "progressing") ? healthReportOf(progressing, "degraded") : report;
}

function healthOf({ status, reason }: { readonly status: string; readonly reason: string }): Health {
  if (status === "True") return reason === "Rotating" || reason === "SetChanged" || reason === "AwaitingPublication" ? "progressing" : "healthy";
  // An object that went with its source is what cascade asks for; one that waits for its first version gets it by itself.
  if (reason === "Removed") return "healthy";
  if (reason === "NotSelected") return "paused";
  return reason === "InsufficientHistory" || reason === "AwaitingPublication" ? "progressing" : "failed";
}

function nextOf({ status }: DeepReadonly<Pick<RotationTarget, "status">>): NextStep | undefined {
  const atMs = timeMs(status?.pending?.notBefore);
  return atMs === undefined ? undefined : { atMs, what: `gets version ${status?.pending?.seq}` };
}

// A set: a lane for each target.

export type ShownTarget = DeepReadonly<Stored<RotationTarget>>;

/** What is known of a set without reading any content. */
export interface ShownSet {
  readonly namespace: string;
  readonly set: string;
  readonly targets: readonly ShownTarget[];
  readonly records: readonly RecordObservation[];
  /** The objects that are kept for a target. */
  readonly objectsOf: (target: ShownTarget) => readonly ObjectObservation[];
  /** The kinds that can be rotated. */
  readonly kinds: readonly Kind[];
}

/** The id of a set's record. */
export function rotationSetId(namespace: string, set: string): string {
  return `rotation/${namespace}/${set}`;
}

/** What is known of a set; undefined if it has no targets. */
export function rotationSetOf(shown: ShownSet, nowMs: number): { readonly set: RotationSet; readonly againAtMs: number | undefined } | undefined {
  const { namespace, set, records, kinds } = shown;
  const newest = records.toSorted((a, b) => b.seq - a.seq)[0];
  const source = sourceRefOf(shown.targets, { namespace, kinds });
  const sources = sourcesOf(newest, source);
  const byName = new Map(shown.targets.map((target) => [target.metadata.name, target]));
  const seen = shown.targets.map((target) => observedTarget(target, shown));
  const observed = withBelievedAnnotations(seen, { sources, records });
  const ranks = ranksOf(observed.filter(({ name }) => !isLeaving(byName.get(name))));
  const reports = new Map(shown.targets.map((target) => [target.metadata.name, targetReport(target, nowMs)]));
  const log = newest?.log;
  const commits = allCommits(records);
  const digests = shownDigests(shown.targets);
  const observation = {
    namespace,
    set,
    sources,
    targets: ranks.flatMap(({ members }) => members),
    records,
    takenSeqs: [],
    formerSeq: 0,
    unwatched: [],
    givenUp: [],
  };
  const steps = log ? plannedSteps(observation, digests, nowMs) : new Map<string, readonly PlannedStep[]>();
  const laneOfMember = (member: TargetObservation, place: Pick<RotationLane, "rank" | "gapMs">): readonly RotationLane[] => {
    const target = byName.get(member.name);
    const report = reports.get(member.name);
    if (!target || !report) return [];
    const held = heldStretches(target, { commits, log, digests });
    return [laneOf(target, { member, report, held, planned: steps.get(member.name) ?? [], kinds, ...place })];
  };
  // What is being deleted has no place among the others any more.
  const leaving = observed.filter(({ name }) => isLeaving(byName.get(name)));
  const lanes = [
    ...ranks.flatMap((rank) => rank.members.flatMap((member) => laneOfMember(member, { rank: rank.rank, gapMs: gapMsOf(rank, ranks) }))),
    ...leaving.flatMap((member) => laneOfMember(member, { rank: ranks.length + 1, gapMs: 0 })),
  ];
  const [worst] = [...reports.values()].toSorted(compareReports);
  const [first] = lanes;
  if (!worst || !first) return undefined;
  const planned = Array.from(steps.values()).flat();
  const { health, reason, message } = worst;
  const known: RotationSet = {
    id: rotationSetId(namespace, set),
    step: "rotation",
    ref: first.ref,
    health,
    reason,
    message,
    ...defined("sinceMs", worst.sinceMs),
    ...defined("createdMs", timeMs(byName.get(first.ref.name)?.metadata.creationTimestamp)),
    detail: `${lanes.length} ${lanes.length === 1 ? "target" : "targets"}`,
    about: [...new Set(lanes.flatMap(({ about }) => about))],
    ...defined("next", nextOfSet(lanes)),
    // Each lane has its own.
    conditions: [],
    set,
    ...defined("source", source),
    ...defined("sourceSinceMs", log?.source.sinceMs),
    policy: shown.targets.every(({ spec }) => spec.changePolicy === "Queue") ? "Queue" : "Settled",
    lanes,
    versions: Array.from(
      records.toSorted((a, b) => b.seq - a.seq),
      ({ seq, seenAtMs }) => ({ seq, ...defined("digest", digests.get(seq)), seenMs: seenAtMs }),
    ),
    frozen: log ? frozenStretches(log) : [],
  };
  return { set: known, againAtMs: earliest([...planned.map(({ atMs }) => atMs), ...lanes.map((lane) => againAtMs(lane, nowMs))]) };
}

function isLeaving(target: ShownTarget | undefined): boolean {
  return target?.metadata.deletionTimestamp !== undefined;
}

/** The earliest of what is planned for any of them, and of what they say themselves. */
function nextOfSet(lanes: readonly RotationLane[]): NextStep | undefined {
  const steps = lanes.flatMap(({ ref, planned: [first], next }): readonly NextStep[] => [
    ...(first ? [{ atMs: first.atMs, what: `${ref.name} ${first.seq === undefined ? "is emptied" : `gets version ${first.seq}`}` }] : []),
    ...(next ? [{ atMs: next.atMs, what: `${ref.name} ${next.what}` }] : []),
  ]);
  return steps.reduce<NextStep | undefined>(earlierNext, undefined);
}

/** What the operator has found in a target's way: until it says otherwise nothing is planned for it. */
const blockers: readonly Blocker["reason"][] = ["NameConflict", "SourceConflict", "WriteRefused", "Paused", "NotSelected"];

function observedTarget(target: ShownTarget, { objectsOf, records }: ShownSet): TargetObservation {
  const { metadata, spec, status } = target;
  const ready = findCondition(status?.conditions, "Ready");
  const reason = blockers.find((known) => known === ready?.reason);
  return {
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation,
    ...targetRules(spec),
    objectName: spec.targetName ?? metadata.name,
    statusDigest: undefined,
    ...defined("promoted", promotedOf(metadata.annotations?.[promoteAnnotation], records)),
    objects: objectsOf(target),
    ...(reason && { blocker: { reason, message: ready?.message ?? "" } }),
  };
}

/** The source as the operator has seen it last: what its content is now is for the operator alone to look at. */
function sourcesOf(newest: RecordObservation | undefined, source: ObjectRef | undefined): readonly SourceObservation[] {
  const state = newest?.log?.source;
  if (!newest || !state || state.state === "gone") return [];
  const place = { resource: newest.resource, name: source?.name ?? "", uid: state.state === "present" ? state.uid : "" };
  const { watchDigest, digest } = newest;
  if (state.state === "present") return [{ ...place, content: { ok: true, watchDigest, digest } }];
  return [{ ...place, content: { ok: false, reason: "PathNotFound", message: "the source cannot be read" } }];
}

function sourceRefOf(
  targets: readonly ShownTarget[],
  { namespace, kinds }: { readonly namespace: string; readonly kinds: readonly Kind[] },
): ObjectRef | undefined {
  const reported = targets.find(({ status }) => status?.sourceRef)?.status?.sourceRef;
  const kind = kinds.find((candidate) => candidate.kind === reported?.kind || resourceOf(candidate) === reported?.kind);
  if (!reported) return undefined;
  const { name } = reported;
  return kind ? objectRef(kind, { namespace, name }) : { apiVersion: "", kind: reported.kind, resource: "", namespace, name };
}

/** By version, the digests that people may see. Those of records and objects are of the bare content, and a short one can be guessed by its digest. */
type ShownDigests = ReadonlyMap<number, string>;

function shownDigests(targets: readonly ShownTarget[]): ShownDigests {
  return new Map(
    targets.flatMap(({ status }) => {
      const { seq, digest } = status?.currentVersion ?? {};
      return seq === undefined || digest === undefined ? [] : [[seq, digest] as const];
    }),
  );
}

/** By target, what happens if nothing changes but the time. What is due this very moment is the operator's to do, and is not planned any more. */
function plannedSteps(observation: SetObservation, digests: ShownDigests, nowMs: number): Map<string, readonly PlannedStep[]> {
  const steps = forecast(observation, nowMs).steps.filter(({ atMs }) => atMs > nowMs);
  return new Map(
    Array.from(
      Map.groupBy(steps, ({ target }) => target),
      ([target, own]) => [
        target,
        own.map(({ atMs, seq }): PlannedStep => ({
          atMs,
          ...defined("seq", seq),
          ...defined("digest", seq === undefined ? undefined : digests.get(seq)),
        })),
      ],
    ),
  );
}

/** Each record holds the log as it was when that record was the newest: together they reach back further than the newest alone. */
function allCommits(records: readonly RecordObservation[]): readonly Commit[] {
  const commits = new Map<number, Commit>();
  for (const { log } of records.toSorted((a, b) => a.seq - b.seq)) {
    for (const commit of log?.commits ?? []) commits.set(commit.seq, { ...commit, at: { ...commits.get(commit.seq)?.at, ...commit.at } });
  }
  return Array.from(commits.values()).toSorted((a, b) => a.seq - b.seq);
}

function heldStretches(
  { metadata: { name }, status }: ShownTarget,
  { commits, log, digests }: { readonly commits: readonly Commit[]; readonly log: RotationLog | undefined; readonly digests: ShownDigests },
): readonly HeldStretch[] {
  const taken = commits
    .flatMap(({ seq, at }) => (at[name] === undefined ? [] : [{ seq, fromMs: at[name] }]))
    .toSorted((a, b) => a.fromMs - b.fromMs || a.seq - b.seq);
  const currentVersion = status?.currentVersion;
  // Without the records' rights, or before the log has it, the status still says what is live.
  if (taken.length === 0 && currentVersion) taken.push({ seq: currentVersion.seq, fromMs: timeMs(currentVersion.appliedAt) ?? 0 });
  const isBackfilled = log?.backfilled.includes(name) ?? false;
  return Array.from(taken, ({ seq, fromMs }, index) => ({
    seq,
    ...defined("digest", digests.get(seq)),
    fromMs,
    ...defined("toMs", taken[index + 1]?.fromMs),
    backfilled: isBackfilled && index === taken.length - 1,
  }));
}

function frozenStretches({ frozen, source }: RotationLog): readonly FreezeStretch[] {
  return [...frozen.map(({ fromMs, toMs }) => ({ fromMs, toMs })), ...(source.state === "present" ? [] : [{ fromMs: source.sinceMs }])];
}

interface LaneParts extends Pick<RotationLane, "held" | "planned" | "rank" | "gapMs"> {
  readonly member: TargetObservation;
  readonly report: ObjectReport;
  readonly kinds: readonly Kind[];
}

function laneOf({ metadata }: ShownTarget, { member, report, kinds, ...drawn }: LaneParts): RotationLane {
  const object = member.objects.find(({ ours }) => ours);
  const kind = kinds.find((candidate) => resourceOf(candidate) === object?.resource);
  return {
    ...report,
    ...defined("object", object && kind && objectRef(kind, { namespace: metadata.namespace, name: object.name })),
    delayMs: member.delayMs,
    ...defined("promoted", member.promoted),
    ...drawn,
  };
}
