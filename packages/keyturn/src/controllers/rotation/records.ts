// What people see of rotation sets: what each target held and holds, and what comes, from the operator's own forecast.
import type {
  DashboardRecord,
  FreezeStretch,
  Health,
  HeldStretch,
  NextStep,
  ObjectRef,
  ObjectReport,
  PlannedStep,
  RotationLane,
  RotationSetRecord,
} from "@keyturn/dashboard/contract";
import {
  type Cache,
  type DeepReadonly,
  earliest,
  findCondition,
  keyOf,
  type Kind,
  managedBySelector,
  nameOf,
  resourceOf,
  Secret,
  statesOf,
  type Stored,
} from "@keyturn/runtime";
import { type FlagReader, keyturn } from "../../feature/feature.ts";
import {
  againAtMs,
  compareReports,
  defined,
  earlierNext,
  happened,
  type HealthReport,
  healthReportOf,
  inNamespace,
  keepShown,
  type Made,
  noStory,
  objectRef,
  objectReport,
  type ObjectStory,
  pauseCommand,
  readyHealth,
  type Records,
  type RecordScope,
  type RecordSource,
  shortDigest,
  timeMs,
  unlessOverdue,
} from "../../feature/record.ts";
import { keepAnnotations, type RotationAnnotations, targetRules, withBelievedAnnotations } from "./annotations.ts";
import { RotationTarget } from "./api.ts";
import { forecast } from "./forecast.ts";
import type { Commit, RotationLog } from "./history.ts";
import {
  type Blocker,
  type ObjectObservation,
  type RecordObservation,
  recordsOf,
  type SetObservation,
  type SourceObservation,
  type TargetObservation,
} from "./observe.ts";
import { type RotationMemory, withMemory } from "./remembered-history.ts";
import { gapMsOf, ranksOf } from "./promotion-rules.ts";
import { annotationIndexes, setKey } from "./watches.ts";

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
  // Ready, and nothing moves all the same. Without a source that was somebody's wish.
  // A pause shows in Ready as well.
  const isHeldUp = progressing?.status === "False" && progressing.reason !== "NoSource";
  return isHeldUp && (report.health === "healthy" || report.health === "progressing") ? healthReportOf(progressing, "degraded") : report;
}

function healthOf({ status, reason }: { readonly status: string; readonly reason: string }): Health {
  if (status === "True") return reason === "Rotating" ? "progressing" : "healthy";
  // An object that went with its source is what cascade asks for; one that waits for its first version gets it by itself.
  if (reason === "Removed") return "healthy";
  if (reason === "NotSelected") return "paused";
  return reason === "InsufficientHistory" ? "progressing" : "failed";
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

function rotationSetId(namespace: string, set: string): string {
  return `rotation/${namespace}/${set}`;
}

/** The record of a set; undefined if it has no targets. */
export function rotationSetRecord(shown: ShownSet, nowMs: number): (Made & { readonly record: RotationSetRecord }) | undefined {
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
  const observation = { namespace, set, sources, targets: ranks.flatMap(({ members }) => members), records, takenSeqs: [] };
  const steps = log ? plannedSteps(observation, records, nowMs) : new Map<string, readonly PlannedStep[]>();
  const laneOfMember = (member: TargetObservation, place: Pick<RotationLane, "rank" | "gapMs">): readonly RotationLane[] => {
    const target = byName.get(member.name);
    const report = reports.get(member.name);
    if (!target || !report) return [];
    const held = heldStretches(member.name, { commits, log, target });
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
  const record: RotationSetRecord = {
    type: "rotationSet",
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
    versions: records
      .toSorted((a, b) => b.seq - a.seq)
      .map(({ seq, digest, seenAtMs }) => ({ seq, digest, seenMs: seenAtMs, isSource: seq === newest?.seq && log?.source.state === "present" })),
    frozen: log ? frozenStretches(log) : [],
  };
  return { record, againAtMs: earliest([...planned.map(({ atMs }) => atMs), ...lanes.map((lane) => againAtMs(lane, nowMs))]) };
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

function observedTarget(target: ShownTarget, { objectsOf }: ShownSet): TargetObservation {
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
  // Without the records' rights, or before the log has it, the status still says what is live.
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

interface LaneParts extends Pick<RotationLane, "held" | "planned" | "rank" | "gapMs"> {
  readonly member: TargetObservation;
  readonly report: ObjectReport;
  readonly kinds: readonly Kind[];
}

function laneOf({ metadata, status }: ShownTarget, { member, report, kinds, ...drawn }: LaneParts): RotationLane {
  const object = member.objects.find(({ ours }) => ours);
  const kind = kinds.find((candidate) => resourceOf(candidate) === object?.resource);
  const pending = status?.pending;
  return {
    ...report,
    ...defined("object", object && kind && objectRef(kind, { namespace: metadata.namespace, name: object.name })),
    order: member.order,
    delayMs: member.delayMs,
    ...drawn,
    ...(pending && {
      pending: {
        seq: pending.seq,
        notBeforeMs: timeMs(pending.notBefore) ?? 0,
        reason: pending.reason === "Settling" ? ("Settling" as const) : ("Following" as const),
      },
    }),
  };
}

function story(ref: ObjectRef, record: DashboardRecord): ObjectStory {
  if (record.type !== "rotationSet") return noStory;
  const where = inNamespace(ref);
  return {
    history: [
      ...happened(record.createdMs, "was created"),
      ...record.versions.flatMap(({ seq, digest, seenMs }) => happened(seenMs, `the source became version ${seq} (${shortDigest(digest)})`)),
      ...record.lanes.flatMap(({ ref: target, held }) =>
        held.flatMap(({ seq, fromMs, backfilled }) =>
          happened(
            fromMs,
            `${target.name === ref.name ? "got" : `${target.name} got`} version ${seq}${backfilled ? ", filled in for want of an older one" : ""}`,
          ),
        ),
      ),
      ...record.frozen.flatMap(({ fromMs, toMs }) => [
        ...happened(fromMs, "the source was gone or could not be read"),
        ...happened(toMs, "the source was back"),
      ]),
    ],
    commands: [
      { what: "what happens next, and when", command: `keyturn plan ${record.set}${where}` },
      { what: "what has happened", command: `keyturn history ${record.set}${where}` },
      pauseCommand(ref),
    ],
  };
}

/** The records of sets: from targets, and from the marks of what is kept for them. `kindsOf`: what can be rotated, by the operator's flags. */
export function rotationRecords(kindsOf: (flag: FlagReader) => readonly Kind[]): Records {
  return { story, watch: (scope) => watchSets(scope, kindsOf(scope.flag)) };
}

function watchSets({ watch, touch, viewer }: RecordScope, kinds: readonly Kind[]): RecordSource {
  const targets = watch(RotationTarget, {
    keep: keepShown,
    indexes: { set: (target, key) => [setKey(nameOf(key).namespace, target.spec.rotationSet)] },
  });
  // Who only asks for a status need not have the right to see what is kept. The operator's page shares the controller's caches, which are of all objects.
  const marked = viewer === "status" ? [] : kinds;
  const selection = viewer === "operator" ? {} : { labels: managedBySelector(keyturn) };
  const objects = new Map(
    marked.map((kind): readonly [string, Cache<RotationAnnotations>] => [
      resourceOf(kind),
      watch<RotationAnnotations>(kind, { ...selection, only: "metadata", keep: keepAnnotations, indexes: annotationIndexes }),
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
    ids: () => new Set(Array.from(targets.entries(), ([key, { spec }]) => rotationSetId(nameOf(key).namespace ?? "", spec.rotationSet))),
    make(id, nowMs) {
      const [, namespace = "", set = ""] = id.split("/");
      const key = setKey(namespace, set);
      const members = targets.byIndex("set", key).flatMap((target) => targets.get(target) ?? []);
      const made = rotationSetRecord(
        {
          namespace,
          set,
          targets: members,
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

/** The objects of one kind that are kept for a target, as intact as their annotations say. */
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
