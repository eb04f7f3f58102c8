// Which pods are compared: those that live and were made since the last restart; and whose they are.
import {
  type Cache,
  type DeepReadonly,
  isBeingDeleted,
  keyOf,
  type KubeObject,
  type ObjectKey,
  type OwnerReference,
  type Pod,
  type Stored,
} from "@keyturn/runtime";
import { restartedAtAnnotation, restartTimeMs } from "./annotations.ts";
import { workloadId, type WorkloadId, type WorkloadRef } from "./rollout-plan.ts";
import { restartableKinds, Rollout } from "./workload.ts";

/** A pod that counts. */
export interface LivePod {
  readonly name: string;
  /** What controls it; undefined for a pod of its own. */
  readonly owner: PodOwner | undefined;
  /** The restart annotation of the template that it was made from. */
  readonly restartedAt: string | undefined;
  readonly createdAtMs: number;
}

export type PodOwner = Pick<OwnerReference, "apiVersion" | "kind" | "name" | "uid">;

/** Kept of a pod that counts for nothing. */
export const deadPod = "dead";

/** Pods that have run to their end are not even sent by the API server. */
export const livePhases = "status.phase!=Succeeded,status.phase!=Failed";

/** What is kept of a pod. One that is failed, finished or on its way out counts for nothing. */
export function keepLivePod(pod: Stored<Pod>): LivePod | typeof deadPod {
  const { phase } = pod.status ?? {};
  if (isBeingDeleted(pod) || phase === "Succeeded" || phase === "Failed") return deadPod;
  const { name, annotations, creationTimestamp = "", ownerReferences = [] } = pod.metadata;
  const controller = ownerReferences.find((reference) => reference.controller === true);
  const owner = controller && { apiVersion: controller.apiVersion, kind: controller.kind, name: controller.name, uid: controller.uid };
  return { name, owner, restartedAt: annotations?.[restartedAtAnnotation], createdAtMs: Date.parse(creationTimestamp) };
}

/**
 * The pods that count: those made since the last restart. Once that is finished there are no others, and a cache that still shows some is behind.
 * A pod made from a restarted template says so itself; a Rollout's pods only have their age.
 */
export function countedPods<P extends Pick<LivePod, "restartedAt" | "createdAtMs">>(
  { ref, restartedAt }: { readonly ref: Pick<WorkloadRef, "kind">; readonly restartedAt: string | undefined },
  pods: readonly P[],
): readonly P[] {
  if (ref.kind !== Rollout.kind) return pods.filter((pod) => pod.restartedAt === restartedAt);
  const sinceMs = restartTimeMs(restartedAt) ?? 0;
  return pods.filter(({ createdAtMs }) => createdAtMs >= sinceMs);
}

// Whose a pod is: by the uid and API group of its owners, never by a name or a kind alone.

/** Kept of a ReplicaSet: what controls it. */
export type ReplicaSetOwner = PodOwner | undefined;

export function keepReplicaSetOwner({ metadata: { ownerReferences = [] } }: Stored<KubeObject>): ReplicaSetOwner {
  return ownerReferences.find((reference) => reference.controller === true);
}

/** The restartable workload that an owner reference names; undefined for any other owner. */
export function restartableId(owner: DeepReadonly<PodOwner> | undefined, namespace: string): WorkloadId | undefined {
  if (!owner || restartableKinds.get(owner.kind)?.kind.group !== groupOf(owner)) return undefined;
  return workloadId({ kind: owner.kind, namespace, name: owner.name });
}

/** The id of what a pod belongs to directly, if that is nothing we could restart. */
export function directOwnerId({ owner, name }: Pick<DeepReadonly<LivePod>, "owner" | "name">, namespace: string): WorkloadId {
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
export function workloadOfPod(
  pod: Pick<DeepReadonly<LivePod>, "owner">,
  namespace: string,
  replicaSets: Cache<ReplicaSetOwner>,
): WorkloadId | undefined {
  return restartableId(pod.owner, namespace) ?? restartableId(replicaSetOf(pod, namespace, replicaSets)?.owner, namespace);
}

/** The uid of the restartable workload that controls a pod. */
export function workloadUidOfPod(
  pod: Pick<DeepReadonly<LivePod>, "owner">,
  namespace: string,
  replicaSets: Cache<ReplicaSetOwner>,
): string | undefined {
  return (replicaSetOf(pod, namespace, replicaSets)?.owner ?? pod.owner)?.uid;
}

function groupOf({ apiVersion }: Pick<PodOwner, "apiVersion">): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}
