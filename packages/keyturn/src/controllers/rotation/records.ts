// The records of rotation sets that people see, and where they come from.
import { type ObjectLane, type ObjectRecord, type ObjectRef, shellCommand } from "@keyturn/dashboard/contract";
import { type Cache, keyOf, type Kind, managedBySelector, nameOf, resourceOf, Secret, statesOf } from "@keyturn/runtime";
import { type FlagReader, keyturn } from "../../feature/feature.ts";
import {
  defined,
  factAt,
  factDigest,
  factObject,
  factText,
  happened,
  inNamespace,
  keepShown,
  laidOut,
  type ObjectStory,
  pauseCommands,
  type Records,
  type RecordScope,
  type RecordSource,
  shortDigest,
} from "../../feature/record.ts";
import { keepAnnotations, type RotationAnnotations } from "./annotations.ts";
import { RotationTarget } from "./api.ts";
import { type ObjectObservation, recordsOf } from "./observe.ts";
import {
  type HeldStretch,
  type RotationLane,
  type RotationSet,
  rotationSetId,
  rotationSetOf,
  type RotationVersion,
  type ShownTarget,
} from "./rotation-set.ts";
import { rotationTracks } from "./tracks.ts";
import { annotationIndexes, setKey } from "./watches.ts";

// What was seen of a set and is no longer written down anywhere: the operator keeps only what its rules can still ask for, and people want to look further back.

/** What is remembered of one set, for as long as this process lives. */
export interface RotationMemory {
  readonly versions: readonly RotationVersion[];
  /** By the name of the target. */
  readonly held: ReadonlyMap<string, readonly HeldStretch[]>;
}

/** As many are remembered of each lane, and of each set's versions. */
const maxRemembered = 40;

/** The set with what is remembered in it, and what is to be remembered from now on. */
export function withMemory(set: RotationSet, memory: RotationMemory | undefined): { readonly set: RotationSet; readonly memory: RotationMemory } {
  const lanes = set.lanes.map((lane) => longerLane(lane, memory?.held.get(lane.ref.name) ?? []));
  const versions = longerVersions(set.versions, memory?.versions ?? []);
  return {
    set: { ...set, lanes, versions },
    memory: { versions, held: new Map(lanes.map(({ ref, held }) => [ref.name, held])) },
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
  const earlier = remembered.filter(({ seq }) => !known.has(seq));
  return [...versions, ...earlier].toSorted((a, b) => b.seq - a.seq).slice(0, maxRemembered);
}

// The record of a set.

export function rotationSetRecord(known: RotationSet): ObjectRecord {
  const { set, source, sourceSinceMs, policy, lanes, next } = known;
  return laidOut(known, {
    table: "rotationSets",
    title: set,
    cells: {},
    texts: [set, source?.name ?? "", ...lanes.map(({ ref }) => ref.name)],
    facts: [
      ...factText("set", set),
      ...factObject("source", source),
      ...factAt("source as it is since", sourceSinceMs),
      ...factText("policy", policy),
      ...factText("targets", String(lanes.length)),
      ...factAt("next", next?.atMs),
    ],
    ...defined("source", source),
    lanes: lanes.map(laneRecord),
    tracks: rotationTracks(known),
  });
}

function laneRecord({ rank, delayMs, held, planned, gapMs, ...lane }: RotationLane): ObjectLane {
  const live = held.find(({ toMs }) => toMs === undefined);
  return {
    ...lane,
    facts: [
      ...factObject("keeps", lane.object),
      ...factText("place in the chain", String(rank)),
      { name: "delay", spanMs: delayMs },
      ...factText("version", live && String(live.seq)),
      ...factDigest("digest", live?.digest),
      ...factAt("held since", live?.fromMs),
      ...(gapMs === 0 ? [] : [{ name: "in no target for", spanMs: gapMs }]),
      ...factAt("next", planned[0]?.atMs),
    ],
  };
}

/** Why a target fares as it does; of what is no target, why the set does. */
function reasonFor({ name }: ObjectRef, { lanes, reason }: RotationSet): string {
  return lanes.find(({ ref }) => ref.name === name)?.reason ?? reason;
}

export function rotationSetStory(ref: ObjectRef, record: RotationSet): ObjectStory {
  const where = inNamespace(ref);
  return {
    history: [
      ...happened(record.createdMs, "was created"),
      ...record.versions.flatMap(({ seq, digest, seenMs }) =>
        happened(seenMs, `the source became version ${seq}${digest === undefined ? "" : ` (${shortDigest(digest)})`}`),
      ),
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
      { what: "what happens next, and when", command: shellCommand`keyturn plan ${record.set} ${where}` },
      { what: "what has happened", command: shellCommand`keyturn history ${record.set} ${where}` },
      ...pauseCommands(ref, reasonFor(ref, record)),
    ],
  };
}

const layout: Records["layout"] = {
  title: "Rotate",
  about: "Next, current and previous versions of a credential, each moving on when its time has come.",
  tables: [
    {
      id: "rotationSets",
      title: "Rotation over time",
      empty: {
        title: "Nothing is rotated yet",
        text: "Mark a Secret as the source of a rotation set, and make a RotationTarget for each version that should be kept of it.",
        command: "kubectl annotate secret NAME rotator.k8s.telekom.com/source=true rotator.k8s.telekom.com/rotation-set=SET",
      },
      timeline: {
        legend: [
          { look: "bar past hue-1", meaning: "held before" },
          { look: "bar live hue-1", meaning: "live" },
          { look: "bar planned hue-1", meaning: "planned" },
          { look: "bar past filled hue-1", meaning: "filled in for want of an older one" },
          { look: "band", meaning: "frozen" },
          { look: "band gap", meaning: "gap" },
        ],
        note: "One colour is one version.",
      },
    },
  ],
};

/** The records of sets: from targets, and from the marks of what is kept for them. `kindsOf`: what can be rotated, by the operator's flags. */
export function rotationRecords(kindsOf: (flag: FlagReader) => readonly Kind[]): Records {
  return { layout, watch: (scope) => watchSets(scope, kindsOf(scope.flag)) };
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
      const made = rotationSetOf(
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
      const { set: known, memory } = withMemory(made.set, memories.get(id));
      memories.set(id, memory);
      return { record: rotationSetRecord(known), againAtMs: made.againAtMs, story: (ref) => rotationSetStory(ref, known) };
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
