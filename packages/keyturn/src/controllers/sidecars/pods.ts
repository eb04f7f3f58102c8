// What is kept of a pod: whose it is, which restart it comes from, and its sidecar.
import {
  type Cache,
  type DeepReadonly,
  keyOf,
  type KubeObject,
  type ObjectKey,
  type OwnerReference,
  type Pod,
  type PodTemplateSpec,
  type Stored,
} from "@keyturn/runtime";
import { restartedAtAnnotation } from "./annotations.ts";
import { type Sidecar, sidecarOf } from "./injection/sidecar.ts";
import { isDead } from "./pod-selection.ts";
import { workloadId, type WorkloadId } from "./rollout-plan.ts";
import { Rollout } from "./workload.ts";

/** A pod that counts. */
export interface LivePod {
  readonly name: string;
  /** What controls it; undefined for a pod of its own. */
  readonly owner: PodOwner | undefined;
  /** The restart annotation of the template that it was made from. */
  readonly restartedAt: string | undefined;
  readonly createdAtMs: number;
  readonly sidecar: Sidecar | undefined;
  /** Of pods that belong to no workload with a template we know: what decides about injection. */
  readonly outline: PodTemplateSpec | undefined;
}

export type PodOwner = Pick<OwnerReference, "apiVersion" | "kind" | "name" | "uid">;

/** Kept of a pod that counts for nothing. */
export const deadPod = "dead";

/** A way to keep pods; `whole` also takes digests of the sidecar's parts. */
export function podKeeper({ whole }: { readonly whole: boolean }): (pod: Stored<Pod>) => LivePod | typeof deadPod {
  return function keepPod(pod) {
    if (isDead(pod)) return deadPod;
    const { name, annotations, creationTimestamp = "", ownerReferences = [] } = pod.metadata;
    const controller = ownerReferences.find((reference) => reference.controller === true);
    const owner = controller && { apiVersion: controller.apiVersion, kind: controller.kind, name: controller.name, uid: controller.uid };
    const sidecar = sidecarOf(pod, { whole });
    return {
      name,
      owner,
      restartedAt: annotations?.[restartedAtAnnotation],
      createdAtMs: Date.parse(creationTimestamp),
      sidecar,
      // Without a sidecar there is nothing to report about a pod that nobody can restart.
      outline: sidecar && !hasTemplate(pod, owner) ? outlineOf(pod) : undefined,
    };
  };
}

/** True for pods of Deployments, StatefulSets and DaemonSets. ReplicaSets that belong to no Deployment do not give their pods this label. */
function hasTemplate({ metadata: { labels } }: Pod, owner: PodOwner | undefined): boolean {
  if (owner?.apiVersion !== "apps/v1") return false;
  return owner.kind === "ReplicaSet" ? labels?.["pod-template-hash"] !== undefined : true;
}

/** Labels that Jobs give their pods, so that those of no two Jobs would look alike. */
const labelsOfOne = /^(?:batch\.kubernetes\.io\/)?(?:controller-uid|job-name|job-completion-index)$/;
/** What istiod itself leaves on a pod. */
const labelsOfIstio = /^(?:security\.istio\.io\/tlsMode|service\.istio\.io\/canonical-(?:name|revision))$/;

/** Such a pod has no template any more; what people wrote on it is enough to know which image and revision it would get. */
function outlineOf({ metadata: { labels = {}, annotations = {} }, spec }: Pod): PodTemplateSpec {
  const own = (entries: Readonly<Record<string, string>>, wanted: (key: string) => boolean): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(entries).filter(([key]) => wanted(key)));
  return {
    metadata: {
      labels: own(labels, (key) => !labelsOfOne.test(key) && !labelsOfIstio.test(key)),
      annotations: own(annotations, (key) => key.startsWith("sidecar.istio.io/") && key !== "sidecar.istio.io/status"),
    },
    spec: { containers: [{ name: "app" }], ...(spec?.serviceAccountName !== undefined && { serviceAccountName: spec.serviceAccountName }) },
  };
}

// Whose a pod is: by the uid and API group of its owners, never by a name or a kind alone.

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
