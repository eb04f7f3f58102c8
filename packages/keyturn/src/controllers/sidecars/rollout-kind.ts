// Argo Rollouts: known as far as restarting them needs.
import { defineKind, type KubeObject, type LabelSelector, type PodTemplateSpec } from "@keyturn/runtime";

export interface Rollout extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector?: LabelSelector;
    /** Absent if `workloadRef` names a Deployment that has it. */
    readonly template?: PodTemplateSpec;
    readonly paused?: boolean;
    /** Pods that are older are replaced, within the strategy's limits. */
    readonly restartAt?: string;
  };
  readonly status?: {
    /** The generation, as text. */
    readonly observedGeneration?: string;
    readonly phase?: string;
    readonly restartedAt?: string;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
}
export const Rollout = defineKind<Rollout>({ group: "argoproj.io", version: "v1alpha1", kind: "Rollout", plural: "rollouts", namespaced: true });
