// A target's object as it is written: the content of a version, what says so, and our mark. Nothing of the source's metadata.
import { type JsonPatchOperation, type KubeObject, marked, type ObjectMeta, type OwnerReference, type Stored } from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { appliedAtAnnotation, digestAnnotation, RotationTarget, versionAnnotation } from "./api.ts";
import type { RotationWrite } from "./rotation-plan.ts";
import { ownerReferenceOf, type VersionContent } from "./version-record.ts";

type TargetWrite = RotationWrite & { readonly verb: "writeTarget" };

/** The object that a write makes. What others have put into the metadata of one that exists stays there. */
export function targetObject(
  write: TargetWrite,
  { content }: VersionContent,
  { namespace, targetUid, live }: { readonly namespace: string; readonly targetUid: string; readonly live: Stored<KubeObject> | undefined },
): KubeObject {
  const name = write.objectName;
  const before: ObjectMeta = live?.metadata ?? {};
  const ownerReferences = ownersOf(write, { uid: targetUid, others: live?.metadata.ownerReferences ?? [] });
  const written: KubeObject = {
    ...content,
    // What is reported about an object is not rotated, and not lost either.
    ...(live && "status" in live && { status: live.status }),
    metadata: {
      namespace,
      name,
      ...(live && { uid: live.metadata.uid, resourceVersion: live.metadata.resourceVersion }),
      ...(before.labels && { labels: before.labels }),
      ...(before.finalizers && { finalizers: before.finalizers }),
      ...(ownerReferences.length > 0 && { ownerReferences }),
      annotations: { ...before.annotations, ...appliedAnnotations(write) },
    },
  };
  return marked(written, keyturn, { kind: RotationTarget, name: { namespace, name: write.target } });
}

/** All that the content of these kinds can consist of, so that it can be set without a look at the object. */
const knownMembers: Readonly<Record<string, readonly string[]>> = {
  secrets: ["data", "type", "immutable"],
  configmaps: ["data", "binaryData", "immutable"],
};

/** The same as a patch of an object in the state that the write is meant for; undefined for kinds of which not every member is known. */
export function targetPatch(write: TargetWrite, { content }: VersionContent): readonly JsonPatchOperation[] | undefined {
  const members = knownMembers[write.resource];
  if (!members || !write.precondition || Object.keys(content).some((name) => !members.includes(name))) return undefined;
  const { uid, resourceVersion } = write.precondition;
  return [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
    ...members.map((name) => ({ op: "add", path: `/${name}`, value: content[name] ?? null }) as const),
    ...Object.entries(appliedAnnotations(write)).map(
      ([name, value]) => ({ op: "add", path: `/metadata/annotations/${name.replaceAll("/", "~1")}`, value }) as const,
    ),
  ];
}

function appliedAnnotations({ seq, digest, atMs }: TargetWrite): Readonly<Record<string, string>> {
  return { [versionAnnotation]: String(seq), [digestAnnotation]: digest, [appliedAtAnnotation]: new Date(atMs).toISOString() };
}

function ownersOf(
  { target, ownedByTarget }: TargetWrite,
  { uid, others }: { readonly uid: string; readonly others: readonly OwnerReference[] },
): readonly OwnerReference[] {
  const strangers = others.filter((owner) => owner.uid !== uid);
  return ownedByTarget ? [...strangers, ownerReferenceOf({ name: target, uid })] : strangers;
}
