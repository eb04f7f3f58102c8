// Whose a pod is: by the uid and API group of its owners, never by a name or a kind alone.
import { type Cache, type DeepReadonly, keyOf, type KubeObject, type ObjectKey, type Stored } from "@keyturn/runtime";
import { workloadId, type WorkloadId } from "./candidate.ts";
import type { LivePod, PodOwner } from "./live-pod.ts";
import { Rollout } from "./rollout-kind.ts";

/** The kinds that can be restarted, with the API group to which each belongs. */
const groups: Readonly<Record<string, string>> = { Deployment: "apps", StatefulSet: "apps", DaemonSet: "apps", Rollout: Rollout.group };

/** Kept of a ReplicaSet: what controls it. */
export type ReplicaSetOwner = PodOwner | undefined;

export function keepReplicaSetOwner({ metadata: { ownerReferences = [] } }: Stored<KubeObject>): ReplicaSetOwner {
  return ownerReferences.find((reference) => reference.controller === true);
}

/** The restartable workload that an owner reference names; undefined for any other owner. */
export function restartableId(owner: DeepReadonly<PodOwner> | undefined, namespace: string): WorkloadId | undefined {
  if (!owner || groups[owner.kind] === undefined || groups[owner.kind] !== groupOf(owner)) return undefined;
  return workloadId({ kind: owner.kind, namespace, name: owner.name });
}

/** The id of what a pod belongs to directly, if that is nothing we could restart. */
export function directOwnerId({ owner, name }: DeepReadonly<LivePod>, namespace: string): WorkloadId {
  if (!owner) return workloadId({ kind: "Pod", namespace, name });
  const group = groupOf(owner);
  // Kinds of other groups may have any name, also that of a kind that we know.
  const kind =
    (owner.kind === "Job" && group === "batch") || (owner.kind === "ReplicaSet" && group === "apps") ? owner.kind : `${owner.kind}.${group}`;
  return workloadId({ kind, namespace, name: owner.name });
}

/** The ReplicaSet that a pod belongs to, if it does; undefined also while the cache shows another one of that name. */
export function replicaSetOf(
  { owner }: Pick<DeepReadonly<LivePod>, "owner">,
  namespace: string,
  replicaSets: Cache<ReplicaSetOwner>,
): { readonly key: ObjectKey; readonly owner: DeepReadonly<ReplicaSetOwner> } | undefined {
  if (!owner || owner.kind !== "ReplicaSet" || groupOf(owner) !== "apps") return undefined;
  const key = keyOf({ namespace, name: owner.name });
  return replicaSets.identity(key)?.uid === owner.uid ? { key, owner: replicaSets.get(key) } : undefined;
}

/** The restartable workload of a pod, directly or through its ReplicaSet. */
export function workloadOfPod(pod: DeepReadonly<LivePod>, namespace: string, replicaSets: Cache<ReplicaSetOwner>): WorkloadId | undefined {
  return restartableId(pod.owner, namespace) ?? restartableId(replicaSetOf(pod, namespace, replicaSets)?.owner, namespace);
}

/** The uid of the restartable workload that controls a pod. */
export function workloadUidOfPod(pod: DeepReadonly<LivePod>, namespace: string, replicaSets: Cache<ReplicaSetOwner>): string | undefined {
  return (replicaSetOf(pod, namespace, replicaSets)?.owner ?? pod.owner)?.uid;
}

function groupOf({ apiVersion }: Pick<PodOwner, "apiVersion">): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}
