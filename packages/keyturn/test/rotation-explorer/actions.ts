// What people and machines do to a set: each action changes a world, or says that it makes no sense in it.
import { parseMaintenanceWindows } from "../../src/feature/maintenance-window.ts";
import type { RotationLog } from "../../src/controllers/rotation/history.ts";
import type { RotationWorld } from "../rotation-model/rotation-world.ts";
import type { ScriptedTarget } from "../rotation-model/script.ts";

/** One thing that somebody does. */
export interface Action {
  readonly name: string;
  /** False if it would change nothing. */
  readonly apply: (world: RotationWorld, nowMs: number) => boolean;
  /** The source is another from now on, or has been away. */
  readonly isSourceNew?: boolean;
}

type Spec = Readonly<Record<string, ScriptedTarget>>;

function changesSource(name: string, apply: Action["apply"]): Action {
  return { name, apply, isSourceNew: true };
}

/** What happens to the source. Contents are counted, so that each change brings a new one. */
export const sourceActions: readonly Action[] = [
  changesSource("the source changes", (world, nowMs) => {
    const count = Math.max(0, ...[...contentsEver(world)].map((content) => Number(content.slice(1))));
    const content = `v${count + 1}`;
    world.putSource({ watched: content, content }, nowMs);
    return count < 5;
  }),
  changesSource("the source goes back to what it was", (world, nowMs) => {
    const [source] = world.sources.values();
    const content = `v${Number(source?.content.slice(1)) - 1}`;
    if (!source || content === "v0") return false;
    world.putSource({ watched: content, content }, nowMs);
    return true;
  }),
  changesSource("the source goes", (world) => world.sources.delete("source")),
  changesSource("the source is made again", (world, nowMs) => {
    const [source] = world.sources.values();
    world.putSource({ uid: world.nextId(), watched: source?.content ?? "v2", content: source?.content ?? "v2" }, nowMs);
    return true;
  }),
];

/** What makes a source no source: another one beside it, or a path that points at nothing. */
export const unreadableActions: readonly Action[] = [
  {
    // The first one holds what it holds all the time.
    name: "a second source appears, or goes",
    apply(world, nowMs) {
      const source = world.sources.get("source");
      if (!source) return false;
      if (!world.sources.delete("other")) world.putSource({ ...source, name: "other", uid: world.nextId() }, nowMs);
      return true;
    },
  },
  changesSource("the path leads nowhere, or somewhere again", (world, nowMs) => {
    const source = world.sources.get("source");
    if (source) world.putSource({ readable: !source.readable }, nowMs);
    return source !== undefined;
  }),
];

/** Every content that is or was in the world, as far as it shows. */
function contentsEver(world: RotationWorld): ReadonlySet<string> {
  const contents = [
    ...Array.from(world.sources.values(), ({ content }) => content),
    ...Array.from(world.objects.values(), ({ digest }) => digest),
    ...Array.from(world.records.values(), ({ digest }) => digest),
  ];
  return new Set(contents.filter((content) => /^v\d+$/.test(content)));
}

/** What happens to RotationTargets: `spec` are those that may be there, under their names. */
export function targetActions(spec: Spec): readonly Action[] {
  const names = Object.keys(spec);
  const edit = (target: string, what: string, change: Partial<ScriptedTarget>): Action => ({
    name: `${target} gets ${what}`,
    apply(world) {
      const before = world.targets.get(target);
      if (!before) return false;
      const delay = before.delayMs / 1000;
      const after = { ...before, delay, ...change };
      world.putTarget(target, after);
      return after.order !== before.order || after.delay !== delay || after.deletionMode !== before.deletionMode;
    },
  });
  const orders = [1, 2, 3, 4];
  const renumbering = names.flatMap((target) => orders.map((order) => edit(target, `order ${order}`, { order })));
  const comingAndGoing = names.flatMap((target) => [
    {
      name: `${target} is deleted`,
      apply: (world) => world.targets.has(target) && world.targets.size > 1 && world.removeTarget(target) !== undefined,
    } satisfies Action,
    {
      name: `${target} is created`,
      apply(world) {
        const own = spec[target];
        if (world.targets.has(target) || !own) return false;
        world.putTarget(target, own);
        return true;
      },
    } satisfies Action,
  ]);
  return [...comingAndGoing, ...renumbering];
}

/** Deletes every RotationTarget at once; `kubectl delete --all`. */
export const allDeleted: Action = {
  name: "all targets are deleted",
  apply(world) {
    const names = [...world.targets.keys()];
    for (const name of names) world.removeTarget(name);
    return names.length > 0;
  },
};

/** What is changed of targets besides their places. */
export function settingActions(names: readonly string[]): readonly Action[] {
  return names.flatMap((target) => [
    ...[1, 9].map((delay): Action => ({
      name: `${target} gets a delay of ${delay} s`,
      apply(world) {
        const before = world.targets.get(target);
        if (!before || before.delayMs === delay * 1000) return false;
        world.putTarget(target, { ...before, delay });
        return true;
      },
    })),
    {
      name: `${target} keeps, or no longer`,
      apply(world) {
        const before = world.targets.get(target);
        if (!before) return false;
        world.putTarget(target, { ...before, delay: before.delayMs / 1000, deletionMode: before.deletionMode === "keep" ? "cascade" : "keep" });
        return true;
      },
    },
  ]);
}

/**
 * True if something besides the object knows what a target was written with. When the operator is killed right after a write, before it notes that, the
 * object alone does: who takes that away too leaves nothing to go by.
 */
function isNoted({ records, objects, reported }: RotationWorld, target: string): boolean {
  const seq = objects.get(target)?.applied?.seq ?? 0;
  const log = records.get(Math.max(...records.keys()))?.log;
  return reported.get(target) === seq || log?.commits.findLast(({ at }) => Object.hasOwn(at, target))?.seq === seq;
}

/** What happens to targets' objects. */
export function objectActions(names: readonly string[]): readonly Action[] {
  return names.flatMap((target) => [
    ...(["deleted", "edited", "unlabelled"] as const).map((how): Action => ({
      name: `the object of ${target} is ${how}`,
      apply: (world) => world.targets.has(target) && (how !== "deleted" || isNoted(world, target)) && world.spoil(target, how),
    })),
    {
      name: `the object of ${target} claims version 7`,
      apply(world) {
        const object = world.objects.get(target);
        if (!object?.ours || !object.applied) return false;
        world.objects.set(target, { ...object, resourceVersion: world.nextId(), applied: { ...object.applied, seq: 7, isProven: false } });
        return true;
      },
    },
    {
      name: `the object of ${target} is made up of the source`,
      apply(world) {
        const object = world.objects.get(target);
        const [source] = world.sources.values();
        const newest = Math.max(...world.records.keys());
        if (!object?.ours || !object.applied || !source || source.content === object.digest) return false;
        const applied = { ...object.applied, seq: newest, digest: source.content, isProven: false };
        world.objects.set(target, { ...object, resourceVersion: world.nextId(), applied, digest: source.content });
        return true;
      },
    },
    { name: `the name of ${target} is taken, or given back`, apply: (world) => (world.takeName(target), true) },
  ]);
}

/** What happens to version records. */
export const recordActions: readonly Action[] = [
  ...[1, 2, 3, 4].map((seq): Action => ({ name: `record ${seq} is deleted`, apply: (world) => world.records.delete(seq) })),
  {
    name: "all records are deleted",
    apply(world) {
      const { size } = world.records;
      world.records.clear();
      return size > 0;
    },
  },
  {
    name: "the log of the newest record is damaged",
    apply(world) {
      const seq = Math.max(...world.records.keys());
      const record = world.records.get(seq);
      if (!record?.log) return false;
      world.records.set(seq, { ...record, resourceVersion: world.nextId(), log: undefined });
      return true;
    },
  },
  {
    name: "a record is given another digest",
    apply(world) {
      const [record] = world.records.values();
      // Of a single one nobody could tell whether the installation's key was lost; what it contains gives it away.
      if (!record || record.digest === "forged" || world.records.size < 2) return false;
      world.records.set(record.seq, { ...record, resourceVersion: world.nextId(), digest: "forged", proof: "invalid" });
      return true;
    },
  },
];

/** True if something else than the newest record has a proof that holds: else nobody could tell an edited one from one whose key was lost. */
function isAnythingProven({ records, objects }: RotationWorld): boolean {
  const newest = Math.max(...records.keys());
  return (
    [...records.values()].some(({ seq, proof }) => seq !== newest && proof === "valid") ||
    [...objects.values()].some(({ applied }) => applied?.isProven)
  );
}

/** A log by which the source has always been what it is. */
function withOldSource(log: RotationLog | undefined): RotationLog | undefined {
  return log?.source.state === "present" ? { ...log, source: { ...log.source, sinceMs: 0 } } : undefined;
}

/** What people who may write Secrets in the namespace make up. */
export const forgeries: readonly Action[] = [
  {
    name: "the log of the newest record is edited",
    apply(world) {
      const record = world.records.get(Math.max(...world.records.keys()));
      const log = withOldSource(record?.log);
      if (!record || !log || record.proof === "invalid" || !isAnythingProven(world)) return false;
      world.records.set(record.seq, { ...record, resourceVersion: world.nextId(), log, proof: "invalid" });
      return true;
    },
  },
  {
    name: "a newer record is made up",
    apply(world) {
      const record = world.records.get(Math.max(...world.records.keys()));
      const log = withOldSource(record?.log);
      if (!record?.proof || !log || !isAnythingProven(world)) return false;
      const { proof: _, ...rest } = record;
      world.records.set(record.seq + 1, { ...rest, seq: record.seq + 1, uid: world.nextId(), resourceVersion: world.nextId(), log });
      return true;
    },
  },
  {
    name: "the installation's key is lost",
    apply(world) {
      const isForged = [...world.records.values()].some(({ proof }) => proof !== "valid");
      // What was made up before is told from the rest by the lost key alone.
      if (isForged || [...world.objects.values()].some(({ ours, applied }) => ours && !applied?.isProven)) return false;
      for (const record of world.records.values()) world.records.set(record.seq, { ...record, proof: "invalid" });
      for (const object of world.objects.values())
        if (object.applied) world.objects.set(object.name, { ...object, applied: { ...object.applied, isProven: false } });
      world.isFirstLook = true;
      return true;
    },
  },
];

/** What people do to have a set stand still, or go on without what is lost. */
export function stillActions(names: readonly string[]): readonly Action[] {
  return [
    ...names.map((target): Action => ({
      name: `${target} is paused, or no longer`,
      apply(world) {
        if (!world.paused.delete(target)) world.paused.add(target);
        return true;
      },
    })),
    { name: "the set is paused, or no longer", apply: (world) => ((world.isPaused = !world.isPaused), true) },
  ];
}

/** A person goes on without everything of which nothing is left. */
export const givesUp: Action = {
  name: "what is lost is given up",
  apply(world) {
    const commits = [...world.records.values()].flatMap(({ log }) => log?.commits ?? []);
    const lost = [...commits.map(({ seq }) => seq), ...world.reported.values()].filter((seq) => !world.records.has(seq) && !world.givenUp.has(seq));
    for (const seq of lost) world.givenUp.add(seq);
    return lost.length > 0;
  },
};

/** Another leader takes over, whose clock is off; and the next one. Beyond a bound none works at all. */
export const clockActions: readonly Action[] = [2000, -2000].map((aheadMs) => ({
  name: `a leader takes over whose clock is ${aheadMs / 1000} s ahead`,
  apply(world) {
    const isNew = world.clockAheadMs !== aheadMs;
    world.clockAheadMs = aheadMs;
    world.isFirstLook = true;
    return isNew;
  },
}));

/** What a JWKSConfig does. */
export const publicationActions: readonly Action[] = [
  {
    name: "the key of the source is published, and known in 3 s",
    apply(world, nowMs) {
      const [source] = world.sources.values();
      if (!source || world.published.has(source.content)) return false;
      world.published.set(source.content, nowMs + 3000);
      return true;
    },
  },
  { name: "no key is published any more", apply: (world) => world.published.size > 0 && (world.published.clear(), true) },
];

const onSundays = { ...parseMaintenanceWindows(["Sun 02:30-03:00"]), timeZone: "UTC" };

/** What happens to the operator, besides being killed and being away. */
export function operatorActions(names: readonly string[]): readonly Action[] {
  return [
    {
      name: "it is started with, or without, the flag for the kind",
      apply(world) {
        world.isKindWatched = !world.isKindWatched;
        world.isFirstLook = true;
        return true;
      },
    },
    {
      name: "it is started with, or without, maintenance windows",
      apply(world) {
        world.maintenance = world.maintenance ? undefined : onSundays;
        world.isFirstLook = true;
        return true;
      },
    },
    ...names.map((target): Action => ({
      name: `writes to ${target} are refused, or no longer`,
      apply(world) {
        if (!world.refused.delete(target)) world.refused.add(target);
        return true;
      },
    })),
  ];
}
