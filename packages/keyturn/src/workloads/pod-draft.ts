// A pod as the controller of a workload would create it, for asking how it would be injected.
import { hash } from "node:crypto";
import {
  canonicalJson,
  type Container,
  type ObjectMeta,
  type OwnerReference,
  type Pod,
  type PodSpec,
  type PodTemplateSpec,
  type Volume,
} from "@keyturn/runtime";

/** A workload, as far as it decides what its pods look like. */
export interface PodSource {
  /** `Pod` for one that no workload of these kinds makes: nothing is added to its template. */
  readonly kind: "Deployment" | "StatefulSet" | "DaemonSet" | "Rollout" | "Pod";
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly template: PodTemplateSpec;
  /** Of a StatefulSet. */
  readonly serviceName?: string;
  /** The names of a StatefulSet's volumeClaimTemplates. */
  readonly volumeClaims?: readonly string[];
  /** Of a DaemonSet: its template's generation. */
  readonly templateGeneration?: number;
}

/** The letters of Kubernetes' own hashes: without vowels, so that no word comes out. */
const hashLetters = "bcdfghjklmnpqrstvwxz2456789";

/**
 * The pod. What selectors and istiod look at is as the real one's: labels that the controller adds, owner, name or generateName, ServiceAccount.
 * Hashes have the right form and are the same wherever they stand, but are not those that Kubernetes would compute.
 */
export function draftPod(source: PodSource): Pod {
  const suffix = templateHash(source.template);
  const { metadata = {}, spec = { containers: [] } } = source.template;
  const own = addedBy(source, suffix);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...own.metadata,
      namespace: source.namespace,
      labels: { ...metadata.labels, ...own.metadata.labels },
      ...(metadata.annotations && { annotations: metadata.annotations }),
      ...(metadata.finalizers && { finalizers: metadata.finalizers }),
    },
    spec: { ...withDefaults(spec), ...own.spec },
  };
}

/** What the API server fills in for pods and not for templates, before it asks webhooks (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/defaults.go). */
function withDefaults(spec: PodSpec): DraftSpec {
  const { containers, initContainers, serviceAccountName = "default" } = spec;
  return {
    enableServiceLinks: true,
    serviceAccount: serviceAccountName,
    ...spec,
    serviceAccountName,
    containers: containers.map(withRequests),
    ...(initContainers && { initContainers: initContainers.map(withRequests) }),
  };
}

/** A limit without a request is a request of the same size. */
function withRequests(container: LimitedContainer): LimitedContainer {
  const { resources } = container;
  return resources?.limits ? { ...container, resources: { ...resources, requests: { ...resources.limits, ...resources.requests } } } : container;
}

/** The fields that are set here and that nobody else needs typed. */
interface DraftSpec extends PodSpec {
  readonly enableServiceLinks?: boolean;
  readonly serviceAccount?: string;
  readonly hostname?: string;
  readonly subdomain?: string;
}
interface LimitedContainer extends Container {
  readonly resources?: { readonly limits?: object; readonly requests?: object };
}

interface Addition {
  readonly metadata: ObjectMeta;
  readonly spec: Partial<DraftSpec>;
}

function addedBy(source: PodSource, suffix: string): Addition {
  const { kind, name, uid } = source;
  switch (kind) {
    case "Deployment":
      return replicaSetPod(`${name}-${suffix}`, { "pod-template-hash": suffix });
    case "Rollout":
      return replicaSetPod(`${name}-${suffix}`, { "rollouts-pod-template-hash": suffix });
    case "DaemonSet": {
      const labels = { "controller-revision-hash": suffix, "pod-template-generation": String(source.templateGeneration ?? 1) };
      return { metadata: { generateName: `${name}-`, labels, ownerReferences: [ownedBy("DaemonSet", name, uid)] }, spec: {} };
    }
    case "StatefulSet":
      return statefulPod(source, suffix);
    case "Pod":
    default:
      return { metadata: { name }, spec: {} };
  }
}

function replicaSetPod(replicaSet: string, labels: Readonly<Record<string, string>>): Addition {
  // The ReplicaSet may not exist; its uid is nobody's.
  const uid = "00000000-0000-0000-0000-000000000000";
  return { metadata: { generateName: `${replicaSet}-`, labels, ownerReferences: [ownedBy("ReplicaSet", replicaSet, uid)] }, spec: {} };
}

function statefulPod({ name, uid, serviceName, volumeClaims = [], template }: PodSource, suffix: string): Addition {
  const pod = `${name}-0`;
  const claimed = volumeClaims.map((claim): Volume & { readonly persistentVolumeClaim: object } => ({
    name: claim,
    persistentVolumeClaim: { claimName: `${claim}-${pod}` },
  }));
  const others = (template.spec?.volumes ?? []).filter((volume) => !volumeClaims.includes(volume.name));
  return {
    metadata: {
      name: pod,
      generateName: `${name}-`,
      labels: {
        "apps.kubernetes.io/pod-index": "0",
        "controller-revision-hash": `${name}-${suffix}`,
        "statefulset.kubernetes.io/pod-name": pod,
      },
      ownerReferences: [ownedBy("StatefulSet", name, uid)],
    },
    spec: { hostname: pod, ...(serviceName && { subdomain: serviceName }), ...(claimed.length > 0 && { volumes: [...claimed, ...others] }) },
  };
}

function ownedBy(kind: string, name: string, uid: string): OwnerReference {
  return { apiVersion: "apps/v1", kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Ten letters, as long as the hash of a ReplicaSet can be. */
function templateHash(template: PodTemplateSpec): string {
  const bytes = hash("sha256", canonicalJson(template), "buffer");
  return [...bytes.subarray(0, 10)].map((byte) => hashLetters[byte % hashLetters.length]).join("");
}
