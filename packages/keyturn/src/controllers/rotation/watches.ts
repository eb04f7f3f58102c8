// What the rotation controller watches, and which sets a change concerns.
import {
  type Cache,
  type Change,
  type ControllerScope,
  type DeepReadonly,
  defineKind,
  type Kind,
  keyOf,
  nameOf,
  type ObjectKey,
  resourceOf,
  Secret,
  statesOf,
} from "@keyturn/runtime";
import type { Selects } from "../../feature/pause-and-selection.ts";
import { jwksConfigKind, keepPublisher, type KeyPublisher } from "../../key-publication.ts";
import { highestVersion, RotationTarget } from "./api.ts";
import { recordName } from "./history.ts";
import type { RecordObservation, TargetObservation } from "./observe.ts";
import { keepAnnotations, type RotationAnnotations, targetKeeper, type TargetSettings } from "./annotations.ts";

/** What publishes keys, as far as rotation looks at it. */
export const JWKSConfig: Kind = defineKind({ ...jwksConfigKind, namespaced: true });

/** As much of a cache as an observation looks at. */
export interface Looked<V> extends Pick<Cache<V>, "identity" | "byIndex"> {
  /** All of them, or those of one namespace. */
  entries(namespace?: string): Iterable<readonly [ObjectKey, V]>;
  get(key: ObjectKey): V | undefined;
}

/** The sets whose sources have been looked at, and how often those have changed since. */
class LookedSources {
  readonly #changes = new Map<ObjectKey, number>();

  /** How often a set's source has changed since the last look; infinite before the first one. One that changed twice may have been another in between. */
  changesOf(set: ObjectKey): number {
    return this.#changes.get(set) ?? Number.POSITIVE_INFINITY;
  }

  changed(set: ObjectKey, times: number): void {
    const known = this.#changes.get(set);
    if (known !== undefined) this.#changes.set(set, known + times);
  }

  /** A look is over; when it began there were so many changes. */
  looked(set: ObjectKey, changes: number): void {
    this.#changes.set(set, Math.max(0, (this.#changes.get(set) ?? 0) - changes));
  }

  forget(set: ObjectKey): void {
    this.#changes.delete(set);
  }
}

/** What an observation is made from. */
export interface RotationWatches {
  readonly targets: Looked<TargetSettings | undefined>;
  /** Every object of each kind that can be rotated, by `plural.group`: that it exists, and what its annotations and labels say. */
  readonly objects: ReadonlyMap<string, Looked<RotationAnnotations>>;
  /** The JWKSConfigs that targets wait for; undefined if nobody knows them. */
  readonly publishers: Pick<Looked<KeyPublisher | undefined>, "get"> | undefined;
  /** True if the objects of this kind are known: it is watched, and the API server serves it. */
  readonly isWatched: (resource: string) => boolean;
}

/** By the key of the set, and by the key of the object that a target keeps if it is another than its own. */
export const targetIndexes = {
  set: (target: DeepReadonly<TargetSettings> | undefined, key: ObjectKey) => (target ? [setKey(nameOf(key).namespace, target.set)] : []),
  object: (target: DeepReadonly<TargetSettings> | undefined, key: ObjectKey) =>
    target?.targetName === undefined ? [] : [keyOf({ ...nameOf(key), name: target.targetName })],
  /** By the key of the JWKSConfig that it waits for. */
  publisher: (target: DeepReadonly<TargetSettings> | undefined, key: ObjectKey) =>
    target?.publishBefore === undefined ? [] : [keyOf({ ...nameOf(key), name: target.publishBefore })],
} as const;

/** By the key of the set whose source or record it is, and by the key of the target that it is kept for if that is another than its own. */
export const annotationIndexes = {
  source: ({ source }: DeepReadonly<RotationAnnotations>, key: ObjectKey) => (source ? [setKey(nameOf(key).namespace, source.set)] : []),
  owner: ({ target }: DeepReadonly<RotationAnnotations>) => (target?.owner === undefined ? [] : [target.owner]),
  record: ({ record }: DeepReadonly<RotationAnnotations>, key: ObjectKey) => (record ? [setKey(nameOf(key).namespace, record.set)] : []),
  /** By the stem of its name. */
  suspected: ({ suspected }: DeepReadonly<RotationAnnotations>, key: ObjectKey) => (suspected ? [setKey(nameOf(key).namespace, suspected.stem)] : []),
} as const;

/** The keys of the targets that want to keep the object of this key. */
function wantedBy(targets: RotationWatches["targets"], key: ObjectKey): readonly ObjectKey[] {
  const own = targets.get(key);
  return [...(own && own.targetName === undefined ? [key] : []), ...targets.byIndex("object", key)];
}

/** The key of a set: what is reconciled. */
export function setKey(namespace: string | undefined, set: string): ObjectKey {
  // Joined, because V8 keeps the parts of a text that is put together from others, and there is one of these for each target.
  return [namespace ?? "", set].join("/");
}

/** Declares the watches and what they trigger. */
export function watchRotation(
  scope: ControllerScope,
  kinds: readonly Kind[],
  selects: Selects,
): RotationWatches & { readonly looked: LookedSources } {
  const targets = scope.watch(RotationTarget, { keep: targetKeeper(selects), indexes: targetIndexes });
  const watchKind = (kind: Kind): Cache<RotationAnnotations> =>
    // Kinds that a flag adds are others' to install: the rest is rotated without them.
    scope.watch<RotationAnnotations>(kind, { only: "metadata", keep: keepAnnotations, indexes: annotationIndexes, optional: kind.group !== "" });
  const objects = new Map(kinds.map((kind) => [resourceOf(kind), watchKind(kind)] as const));

  const setsOf = (keys: readonly ObjectKey[]): readonly ObjectKey[] =>
    keys.flatMap((key) => {
      const target = targets.get(key);
      return target ? [setKey(nameOf(key).namespace, target.set)] : [];
    });
  const publishers = scope.watch(JWKSConfig, { keep: keepPublisher, optional: true });
  scope.trigger(publishers, ({ key }) => setsOf(targets.byIndex("publisher", key)));
  scope.trigger(targets, (change) => statesOf(change).flatMap((target) => (target ? [setKey(nameOf(change.key).namespace, target.set)] : [])));
  const looked = new LookedSources();
  for (const cache of objects.values()) {
    scope.trigger(cache, (change) => [
      ...changedSources(change, looked),
      ...statesOf(change).flatMap((annotations) => concernedSets(annotations, change.key, setsOf)),
      // A name that somebody takes or gives back.
      ...(change.type === "updated" ? [] : setsOf(wantedBy(targets, change.key))),
    ]);
  }
  const isWatched = (resource: string): boolean => {
    const cache = objects.get(resource);
    return cache !== undefined && scope.isServed(cache);
  };
  return {
    targets,
    objects,
    get publishers() {
      return scope.isServed(publishers) ? publishers : undefined;
    },
    isWatched,
    looked,
  };
}

/** The sets whose source this was, or is: how often it has changed is counted. What a list shows may have changed more than once. */
function changedSources(change: Change<RotationAnnotations>, looked: LookedSources): readonly ObjectKey[] {
  const sets = statesOf(change).flatMap(({ source }) => (source ? [setKey(nameOf(change.key).namespace, source.set)] : []));
  for (const set of new Set(sets)) looked.changed(set, "listed" in change ? 2 : 1);
  return sets;
}

function concernedSets(
  { target, record, suspected }: DeepReadonly<RotationAnnotations>,
  key: ObjectKey,
  setsOf: (keys: readonly ObjectKey[]) => readonly ObjectKey[],
): readonly ObjectKey[] {
  const { namespace } = nameOf(key);
  return [
    ...(record ? [setKey(namespace, record.set)] : []),
    ...(suspected ? [setKey(namespace, suspected.set)] : []),
    ...(target ? setsOf([target.owner ?? key]) : []),
  ];
}

// Which numbers versions can have: what has a record's name, or claims a version, shows in the watches alone.

/** The numbers above all that were given out whose record's name somebody else has, or wants. */
export function takenSeqs(
  key: ObjectKey,
  records: readonly RecordObservation[],
  { watches, targets }: { readonly watches: RotationWatches; readonly targets: readonly TargetObservation[] },
): readonly number[] {
  const { namespace = "", name: set } = nameOf(key);
  const given = [...records.map(({ seq }) => seq), ...targets.flatMap(({ objects }) => objects.map(({ applied }) => applied?.seq ?? 0))];
  const secrets = watches.objects.get(resourceOf(Secret));
  const taken: number[] = [];
  for (let seq = Math.max(0, ...given) + 1; seq <= highestVersion; seq++) {
    const recordKey = keyOf({ namespace, name: recordName(set, seq) });
    if (!secrets?.identity(recordKey) && wantedBy(watches.targets, recordKey).length === 0) break;
    taken.push(seq);
  }
  return taken;
}

/** The highest version in a namespace: an object of a target that was deleted does not say of which set it was, and may be back with its target. */
export function formerSeq(namespace: string, { objects }: RotationWatches): number {
  let highest = 0;
  for (const cache of objects.values()) {
    for (const [, { target }] of cache.entries(namespace)) highest = Math.max(highest, target?.applied?.seq ?? 0);
  }
  return highest;
}
