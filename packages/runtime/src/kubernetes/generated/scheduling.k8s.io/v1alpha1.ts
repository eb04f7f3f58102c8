// scheduling.k8s.io/v1alpha1 as Kubernetes publishes it. Written by `node tools/kubernetes-types.ts`: do not edit.
import { defineKind, type KubeObject } from "../../../client/kind.ts";

/** BasicSchedulingPolicy indicates that standard Kubernetes scheduling behavior should be used. */
export type BasicSchedulingPolicy = Readonly<Record<string, unknown>>;

/** GangSchedulingPolicy defines the parameters for gang scheduling. */
export interface GangSchedulingPolicy {
  /** MinCount is the minimum number of pods that must be schedulable or scheduled at the same time for the scheduler to admit the entire group. It must be a positive integer. */
  readonly minCount: number;
}

/** PodGroup represents a set of pods with a common scheduling policy. */
export interface PodGroup {
  /** Name is a unique identifier for the PodGroup within the Workload. It must be a DNS label. This field is immutable. */
  readonly name: string;
  /** Policy defines the scheduling policy for this PodGroup. */
  readonly policy: PodGroupPolicy;
}

/** PodGroupPolicy defines the scheduling configuration for a PodGroup. */
export interface PodGroupPolicy {
  /** Basic specifies that the pods in this group should be scheduled using standard Kubernetes scheduling behavior. */
  readonly basic?: BasicSchedulingPolicy;
  /** Gang specifies that the pods in this group should be scheduled using all-or-nothing semantics. */
  readonly gang?: GangSchedulingPolicy;
}

/** TypedLocalObjectReference allows to reference typed object inside the same namespace. */
export interface TypedLocalObjectReference {
  /** APIGroup is the group for the resource being referenced. If APIGroup is empty, the specified Kind must be in the core API group. For any other third-party types, setting APIGroup is required. It must be a DNS subdomain. */
  readonly apiGroup?: string;
  /** Kind is the type of resource being referenced. It must be a path segment name. */
  readonly kind: string;
  /** Name is the name of resource being referenced. It must be a path segment name. */
  readonly name: string;
}

/** Workload allows for expressing scheduling constraints that should be used when managing lifecycle of workloads from scheduling perspective, including scheduling, preemption, eviction and other phases. */
export interface Workload extends KubeObject {
  /** Spec defines the desired behavior of a Workload. */
  readonly spec: WorkloadSpec;
}
/** Names workloads of scheduling.k8s.io/v1alpha1. */
export const Workload = /* @__PURE__ */ defineKind<Workload>({ group: "scheduling.k8s.io", version: "v1alpha1", kind: "Workload", plural: "workloads", namespaced: true });

/** WorkloadSpec defines the desired state of a Workload. */
export interface WorkloadSpec {
  /** ControllerRef is an optional reference to the controlling object, such as a Deployment or Job. This field is intended for use by tools like CLIs to provide a link back to the original workload definition. When set, it cannot be changed. */
  readonly controllerRef?: TypedLocalObjectReference;
  /** PodGroups is the list of pod groups that make up the Workload. The maximum number of pod groups is 8. This field is immutable. */
  readonly podGroups: readonly PodGroup[];
}
