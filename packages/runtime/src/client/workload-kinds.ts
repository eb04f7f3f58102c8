// The built-in kinds that run pods, and what leads traffic to them.
import type { Condition, LabelSelector, PodTemplateSpec } from "./core-kinds.ts";
import { defineKind } from "./kind.ts";
import type { KubeObject } from "./object.ts";

export interface Deployment extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly paused?: boolean;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly unavailableReplicas?: number;
    readonly conditions?: readonly Condition[];
  };
}
export const Deployment = defineKind<Deployment>({ group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true });

export interface StatefulSet extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly serviceName?: string;
    readonly updateStrategy?: { readonly type?: "RollingUpdate" | "OnDelete"; readonly rollingUpdate?: { readonly partition?: number } };
    readonly volumeClaimTemplates?: readonly KubeObject[];
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
  };
}
export const StatefulSet = defineKind<StatefulSet>({ group: "apps", version: "v1", kind: "StatefulSet", plural: "statefulsets", namespaced: true });

export interface DaemonSet extends KubeObject {
  readonly spec?: {
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly updateStrategy?: { readonly type?: "RollingUpdate" | "OnDelete" };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly desiredNumberScheduled?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberReady?: number;
    readonly numberAvailable?: number;
    readonly numberUnavailable?: number;
  };
}
export const DaemonSet = defineKind<DaemonSet>({ group: "apps", version: "v1", kind: "DaemonSet", plural: "daemonsets", namespaced: true });

export interface ReplicaSet extends KubeObject {
  readonly spec?: { readonly replicas?: number; readonly selector: LabelSelector; readonly template?: PodTemplateSpec };
  readonly status?: { readonly observedGeneration?: number; readonly replicas?: number; readonly readyReplicas?: number };
}
export const ReplicaSet = defineKind<ReplicaSet>({ group: "apps", version: "v1", kind: "ReplicaSet", plural: "replicasets", namespaced: true });

export interface Job extends KubeObject {
  readonly spec?: {
    readonly template: PodTemplateSpec;
    readonly parallelism?: number;
    readonly completions?: number;
    readonly backoffLimit?: number;
    readonly ttlSecondsAfterFinished?: number;
  };
  readonly status?: {
    readonly active?: number;
    readonly succeeded?: number;
    readonly failed?: number;
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly conditions?: readonly Condition[];
  };
}
export const Job = defineKind<Job>({ group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true });

export interface IngressBackend {
  readonly service?: { readonly name: string; readonly port?: { readonly number?: number; readonly name?: string } };
}
export interface IngressRule {
  readonly host?: string;
  readonly http?: { readonly paths: readonly { readonly path?: string; readonly pathType: string; readonly backend: IngressBackend }[] };
}
export interface Ingress extends KubeObject {
  readonly spec?: {
    readonly ingressClassName?: string;
    readonly defaultBackend?: IngressBackend;
    readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName?: string }[];
    readonly rules?: readonly IngressRule[];
  };
}
export const Ingress = defineKind<Ingress>({
  group: "networking.k8s.io",
  version: "v1",
  kind: "Ingress",
  plural: "ingresses",
  namespaced: true,
});
