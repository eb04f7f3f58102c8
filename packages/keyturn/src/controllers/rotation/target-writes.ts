// What is to be done to a target's objects so that there is one, with the content of the version that the target holds.
import type { Version } from "./chain.ts";
import type { ObjectObservation, TargetObservation } from "./observation.ts";
import type { RotationWrite } from "./rotation-plan.ts";

/** What a target should hold: a version since a time, or no object at all. */
export type Wanted = { readonly type: "version"; readonly version: Version; readonly atMs: number } | { readonly type: "none" };

/** The writes for one target; empty if all is as it should be. Only objects that are marked as this target's are touched. */
export function targetWrites(target: TargetObservation, wanted: Wanted): readonly RotationWrite[] {
  const ours = target.objects.filter((object) => object.ours);
  if (wanted.type === "none") return ours.map((object) => removal(target, object));
  const { version, atMs } = wanted;
  const ownedByTarget = target.deletionMode === "cascade";
  const live = ours.find(({ resource, name }) => resource === version.resource && name === target.objectName);
  const write: RotationWrite = {
    verb: "writeTarget",
    target: target.name,
    resource: version.resource,
    objectName: target.objectName,
    seq: version.seq,
    digest: version.digest,
    atMs,
    ownedByTarget,
    precondition: live && { uid: live.uid, resourceVersion: live.resourceVersion },
  };
  const isCurrent = live && holds(live, version) && live.ownedByTarget === ownedByTarget;
  // The old object goes only when there is a new one.
  return [...(isCurrent ? [] : [write]), ...ours.filter((object) => object !== live).map((object) => removal(target, object))];
}

/** True if the object says that it has the version, and has it. */
function holds({ applied, digest }: ObjectObservation, version: Version): boolean {
  return applied?.seq === version.seq && applied.digest === version.digest && digest === version.digest;
}

function removal({ name }: TargetObservation, { resource, name: objectName, uid, resourceVersion }: ObjectObservation): RotationWrite {
  return { verb: "deleteTarget", target: name, resource, objectName, precondition: { uid, resourceVersion } };
}
