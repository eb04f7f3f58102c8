// Watches the objects of the step "rotate": targets, and the marks of what is kept for them.
import { type Cache, type Kind, keyOf, nameOf, resourceOf, Secret, type Selection, statesOf } from "@keyturn/runtime";
import { RotationTarget } from "../../controllers/rotation/api.ts";
import { keepMarks, type Marks } from "../../controllers/rotation/marks.ts";
import type { ObjectObservation } from "../../controllers/rotation/observation.ts";
import { recordsOf } from "../../controllers/rotation/observe.ts";
import { markIndexes, setKey } from "../../controllers/rotation/watches.ts";
import type { RecordSource, SourceScope } from "../record-source.ts";
import { keepShown } from "../records/record-base.ts";
import { type RotationMemory, withMemory } from "../records/rotation-memory.ts";
import { rotationSetId, rotationSetRecord, type ShownTarget } from "../records/rotation-set.ts";

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
    kinds.map((kind): readonly [string, Cache<Marks>] => [
      resourceOf(kind),
      watch<Marks>(kind, { ...selection, only: "metadata", keep: keepMarks, indexes: markIndexes }),
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
function keptObjects({ metadata, spec }: ShownTarget, resource: string, cache: Cache<Marks>): readonly ObjectObservation[] {
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
