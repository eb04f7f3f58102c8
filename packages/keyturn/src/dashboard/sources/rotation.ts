// What was seen of a rotation set and is no longer written down anywhere: the operator keeps only what its rules can still ask for, and people want to look further back.
import type {
  FreezeStretch,
  HeldStretch,
  ObjectRef,
  PlannedStep,
  RotationLane,
  RotationSetRecord,
  RotationVersion,
} from "@keyturn/dashboard/contract";
import {
  type Cache,
  type DeepReadonly,
  earliest,
  findCondition,
  keyOf,
  type Kind,
  nameOf,
  parseStoredDuration,
  resourceOf,
  Secret,
  type Selection,
  statesOf,
  type Stored,
} from "@keyturn/runtime";
import { keepAnnotations, type RotationAnnotations, withBelievedAnnotations } from "../../controllers/rotation/annotations.ts";
import { RotationTarget } from "../../controllers/rotation/api.ts";
import { forecast } from "../../controllers/rotation/forecast.ts";
import type { Commit, RotationLog } from "../../controllers/rotation/history.ts";
import {
  type Blocker,
  type ObjectObservation,
  type RecordObservation,
  recordsOf,
  type SetObservation,
  type SourceObservation,
  type TargetObservation,
} from "../../controllers/rotation/observe.ts";
import { gapMsOf, type Rank, ranksOf } from "../../controllers/rotation/rules.ts";
import { rotationSummary } from "../../controllers/rotation/summary.ts";
import { markIndexes, setKey } from "../../controllers/rotation/watches.ts";
import { compareSummaries, type Summary, timeMs } from "../../feature/summary.ts";
import {
  conditionViews,
  defined,
  keepShown,
  type Made,
  objectRef,
  recordBase,
  type RecordSource,
  type SourceScope,
  summaryAgainAtMs,
  healthViews,
} from "../record-source.ts";

/** What is remembered of one set, for as long as this process lives. */
export interface RotationMemory {
  readonly versions: readonly RotationVersion[];
  /** By the name of the target. */
  readonly held: ReadonlyMap<string, readonly HeldStretch[]>;
}

/** As many are remembered of each lane, and of each set's versions. */
const maxRemembered = 40;

/** The record with what is remembered in it, and what is to be remembered from now on. */
export function withMemory(
  record: RotationSetRecord,
  memory: RotationMemory | undefined,
): { readonly record: RotationSetRecord; readonly memory: RotationMemory } {
  const lanes = record.lanes.map((lane) => longerLane(lane, memory?.held.get(lane.target.name) ?? []));
  const versions = longerVersions(record.versions, memory?.versions ?? []);
  return {
    record: { ...record, lanes, versions },
    memory: { versions, held: new Map(lanes.map(({ target, held }) => [target.name, held])) },
  };
}

/** Stretches that ended before those that are still written down. */
function longerLane(lane: RotationLane, remembered: readonly HeldStretch[]): RotationLane {
  const [first] = lane.held;
  const earlier = first ? remembered.filter(({ fromMs }) => fromMs < first.fromMs) : [];
  if (!first || earlier.length === 0) return lane;
  const closed = earlier.map((stretch, index) => until(stretch, (earlier[index + 1] ?? first).fromMs));
  return { ...lane, held: [...closed, ...lane.held].slice(-maxRemembered) };
}

function until(stretch: HeldStretch, toMs: number): HeldStretch {
  return { ...stretch, toMs };
}

function longerVersions(versions: readonly RotationVersion[], remembered: readonly RotationVersion[]): readonly RotationVersion[] {
  const known = new Set(versions.map(({ seq }) => seq));
  const earlier = remembered.filter(({ seq }) => !known.has(seq)).map(({ seq, digest, seenMs }) => ({ seq, digest, seenMs, isSource: false }));
  return [...versions, ...earlier].toSorted((a, b) => b.seq - a.seq).slice(0, maxRemembered);
}

// The records of rotation sets: what each target held and holds, and what comes, from the operator's own forecast.

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

function rotationSetId(namespace: string, set: string): string {
  return `rotation/${namespace}/${set}`;
}

/** The record of a set; undefined if it has no targets. */
export function rotationSetRecord(shown: ShownSet, nowMs: number): (Made & { readonly record: RotationSetRecord }) | undefined {
  const { namespace, set, records, kinds } = shown;
  const newest = records.toSorted((a, b) => b.seq - a.seq)[0];
  const source = sourceRefOf(shown.targets, { namespace, kinds });
  const sources = sourcesOf(newest, source);
  const seen = shown.targets.map((target) => observedTarget(target, shown));
  const observed = withBelievedAnnotations(seen, { sources, records });
  const ranks = ranksOf(observed);
  const byName = new Map(shown.targets.map((target) => [target.metadata.name, target]));
  const first = byName.get(ranks[0]?.members[0]?.name ?? "");
  if (!first) return undefined;

  const log = newest?.log;
  const commits = allCommits(records);
  const observation = { namespace, set, sources, targets: observed, records, takenSeqs: [] };
  const steps = log ? plannedSteps(observation, records, nowMs) : new Map<string, readonly PlannedStep[]>();
  const summaries = new Map(shown.targets.map((target) => [target.metadata.name, rotationSummary(target, nowMs)]));
  const lanes = ranks.flatMap((rank) =>
    rank.members.flatMap((member): readonly RotationLane[] => {
      const target = byName.get(member.name);
      const summary = summaries.get(member.name);
      if (!target || !summary) return [];
      const held = heldStretches(member.name, { commits, log, target });
      return [laneOf(target, { member, rank, ranks, summary, held, planned: steps.get(member.name) ?? [], kinds })];
    }),
  );
  const [worst] = Array.from(summaries.values()).toSorted(compareSummaries);
  const planned = Array.from(steps.values()).flat();
  if (!worst) return undefined;
  const record: RotationSetRecord = {
    type: "rotationSet",
    id: rotationSetId(namespace, set),
    step: "rotation",
    ...recordBase(RotationTarget, byName.get(worst.name) ?? first, worst),
    ref: objectRef(RotationTarget, first.metadata),
    // Each lane has its own.
    conditions: [],
    ...defined("createdMs", timeMs(first.metadata.creationTimestamp)),
    ...defined("nextMs", earliest([...planned.map(({ atMs }) => atMs), ...Array.from(summaries.values(), ({ next }) => next?.atMs)])),
    set,
    ...defined("source", source),
    ...defined("sourceSinceMs", log?.source.sinceMs),
    policy: shown.targets.every(({ spec }) => spec.changePolicy === "Queue") ? "Queue" : "Settled",
    lanes,
    versions: records
      .toSorted((a, b) => b.seq - a.seq)
      .map(({ seq, digest, seenAtMs }) => ({ seq, digest, seenMs: seenAtMs, isSource: seq === newest?.seq && log?.source.state === "present" })),
    frozen: log ? frozenStretches(log) : [],
  };
  const againAtMs = earliest([...planned.map(({ atMs }) => atMs), ...Array.from(summaries.values(), (summary) => summaryAgainAtMs(summary, nowMs))]);
  return { record, againAtMs };
}

/** What the operator has found in a target's way: until it says otherwise nothing is planned for it. */
const blockers: readonly Blocker["reason"][] = ["NameConflict", "SourceConflict", "WriteRefused", "Paused", "NotSelected"];

function observedTarget(target: ShownTarget, { objectsOf }: ShownSet): TargetObservation {
  const { metadata, spec, status } = target;
  const ready = findCondition(status?.conditions, "Ready");
  const reason = blockers.find((known) => known === ready?.reason);
  return {
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation,
    order: spec.rotationOrder,
    delayMs: Math.ceil(parseStoredDuration(spec.rotationDelay)),
    deletionMode: spec.deletionMode,
    whenUnfilled: spec.whenUnfilled,
    changePolicy: spec.changePolicy,
    objectName: spec.targetName ?? metadata.name,
    statusDigest: undefined,
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

/** By target, what happens if nothing changes but the time. What is due this very moment is the operator's to do, and is not planned any more. */
function plannedSteps(observation: SetObservation, records: readonly RecordObservation[], nowMs: number): Map<string, readonly PlannedStep[]> {
  const digests = new Map(records.map(({ seq, digest }) => [seq, digest]));
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
  name: string,
  { commits, log, target }: { readonly commits: readonly Commit[]; readonly log: RotationLog | undefined; readonly target: ShownTarget },
): readonly HeldStretch[] {
  const taken = commits
    .flatMap(({ seq, digest, at }) => (at[name] === undefined ? [] : [{ seq, digest, fromMs: at[name] }]))
    .toSorted((a, b) => a.fromMs - b.fromMs || a.seq - b.seq);
  const { currentVersion } = target.status ?? {};
  // Without the records' rights, or before the log has it, the status still tells what is live.
  if (taken.length === 0 && currentVersion) {
    taken.push({ seq: currentVersion.seq, digest: currentVersion.digest, fromMs: timeMs(currentVersion.appliedAt) ?? 0 });
  }
  const isBackfilled = log?.backfilled.includes(name) ?? false;
  return Array.from(taken, ({ seq, digest, fromMs }, index) => ({
    seq,
    digest,
    fromMs,
    ...defined("toMs", taken[index + 1]?.fromMs),
    backfilled: isBackfilled && index === taken.length - 1,
  }));
}

function frozenStretches({ frozen, source }: RotationLog): readonly FreezeStretch[] {
  return [...frozen.map(({ fromMs, toMs }) => ({ fromMs, toMs })), ...(source.state === "present" ? [] : [{ fromMs: source.sinceMs }])];
}

interface LaneParts extends Pick<RotationLane, "held" | "planned"> {
  readonly member: TargetObservation;
  readonly rank: Rank;
  readonly ranks: readonly Rank[];
  readonly summary: Summary;
  readonly kinds: readonly Kind[];
}

function laneOf(target: ShownTarget, { member, rank, ranks, summary, held, planned, kinds }: LaneParts): RotationLane {
  const { metadata, status } = target;
  const conditions = conditionViews(status?.conditions);
  const object = member.objects.find(({ ours }) => ours);
  const kind = kinds.find((candidate) => resourceOf(candidate) === object?.resource);
  const { health, reason, message } = healthViews(summary);
  const pending = status?.pending;
  return {
    target: objectRef(RotationTarget, metadata),
    ...defined("object", object && kind && objectRef(kind, { namespace: metadata.namespace, name: object.name })),
    rank: rank.rank,
    order: member.order,
    delayMs: member.delayMs,
    held,
    planned,
    ...(pending && {
      pending: {
        seq: pending.seq,
        notBeforeMs: timeMs(pending.notBefore) ?? 0,
        reason: pending.reason === "Settling" ? ("Settling" as const) : ("Following" as const),
      },
    }),
    gapMs: gapMsOf(rank, ranks),
    health,
    reason,
    message,
    conditions,
  };
}

// Watches the objects of the step "rotate": targets, and the marks of what is kept for them.

/** What to watch. */
export interface RotationSourceOptions {
  /** The kinds that can be rotated. */
  readonly kinds: readonly Kind[];
  /** Which objects of these kinds: all, as the operator does, whose caches are then shared; or those that carry its mark. */
  readonly objects: Pick<Selection, "labels">;
}

export function rotationSource({ watch, touch }: SourceScope, { kinds, objects: selection }: RotationSourceOptions): RecordSource {
  const targets = watch(RotationTarget, {
    keep: keepShown,
    indexes: { set: (target, key) => [setKey(nameOf(key).namespace, target.spec.rotationSet)] },
  });
  const objects = new Map(
    kinds.map((kind): readonly [string, Cache<RotationAnnotations>] => [
      resourceOf(kind),
      watch<RotationAnnotations>(kind, { ...selection, only: "metadata", keep: keepAnnotations, indexes: markIndexes }),
    ]),
  );
  const memories = new Map<string, RotationMemory>();
  const touchSet = (namespace: string | undefined, set: string): void => touch(rotationSetId(namespace ?? "", set));
  targets.subscribe((change) => {
    const { namespace } = nameOf(change.key);
    for (const { spec } of statesOf(change)) touchSet(namespace, spec.rotationSet);
  });
  for (const cache of objects.values()) {
    cache.subscribe((change) => {
      const { namespace } = nameOf(change.key);
      for (const { record, target } of statesOf(change)) {
        if (record) touchSet(namespace, record.set);
        const owner = target && targets.get(target.owner ?? change.key);
        if (owner) touchSet(namespace, owner.spec.rotationSet);
      }
    });
  }
  return {
    step: "rotation",
    resources: [resourceOf(RotationTarget)],
    caches: () => [targets, ...objects.values()],
    make(id, nowMs) {
      const [, namespace = "", set = ""] = id.split("/");
      const key = setKey(namespace, set);
      const members = targets.byIndex("set", key).flatMap((target) => targets.get(target) ?? []);
      const made = rotationSetRecord(
        {
          namespace,
          set,
          targets: members.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
          records: recordsOf(key, objects.get(resourceOf(Secret))),
          objectsOf: (target) => Array.from(objects).flatMap(([resource, cache]) => keptObjects(target, resource, cache)),
          kinds,
        },
        nowMs,
      );
      if (!made) {
        memories.delete(id);
        return undefined;
      }
      const { record, memory } = withMemory(made.record, memories.get(id));
      memories.set(id, memory);
      return { ...made, record };
    },
    find(resource, name) {
      const target = resource === resourceOf(RotationTarget) ? targets.get(keyOf(name)) : undefined;
      return target && { kind: RotationTarget, id: rotationSetId(name.namespace, target.spec.rotationSet) };
    },
  };
}

/** The objects of one kind that are kept for a target, as intact as their marks say. */
function keptObjects({ metadata, spec }: ShownTarget, resource: string, cache: Cache<RotationAnnotations>): readonly ObjectObservation[] {
  const { namespace, name, uid } = metadata;
  const place = namespace === undefined ? {} : { namespace };
  const targetKey = keyOf({ ...place, name });
  const keys = new Set([keyOf({ ...place, name: spec.targetName ?? name }), targetKey, ...cache.byIndex("owner", targetKey)]);
  return Array.from(keys).flatMap((key) => {
    const target = cache.get(key)?.target;
    const identity = cache.identity(key);
    if (!target || !identity || (target.owner ?? key) !== targetKey) return [];
    const { applied, ownerUids } = target;
    return [
      {
        resource,
        name: nameOf(key).name,
        ...identity,
        ours: true,
        ...(applied && { applied }),
        digest: applied?.digest ?? "",
        ownedByTarget: ownerUids.includes(uid),
      },
    ];
  });
}
