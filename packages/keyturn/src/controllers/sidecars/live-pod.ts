// What is kept of a pod: whose it is, which restart it comes from, and its sidecar.
import { isBeingDeleted, type OwnerReference, type Pod, type PodTemplateSpec, type Stored } from "@keyturn/runtime";
import { type Sidecar, sidecarOf } from "./injection/sidecar.ts";
import { restartedAtAnnotation } from "./marks.ts";

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

/** Kept of a pod that is failed, finished or on its way out: it counts for nothing. */
export const deadPod = "dead";

/** Pods that have run to their end are not even sent by the API server. */
export const livePhases = "status.phase!=Succeeded,status.phase!=Failed";

/** A way to keep pods; `whole` also takes digests of the sidecar's parts. */
export function podKeeper({ whole }: { readonly whole: boolean }): (pod: Stored<Pod>) => LivePod | typeof deadPod {
  return function keepPod(pod) {
    const { phase } = pod.status ?? {};
    if (isBeingDeleted(pod) || phase === "Succeeded" || phase === "Failed") return deadPod;
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

/** Such a pod has no template any more; what people wrote on it is enough to tell which image and revision it would get. */
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
