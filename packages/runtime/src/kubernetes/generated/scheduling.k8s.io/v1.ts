// scheduling.k8s.io/v1 as Kubernetes publishes it. Written by `node tools/kubernetes-types.ts`: do not edit.
import { defineKind, type KubeObject } from "../../../client/kind.ts";

/** PriorityClass defines mapping from a priority class name to the priority integer value. The value can be any valid integer. */
export interface PriorityClass extends KubeObject {
  /** description is an arbitrary string that usually provides guidelines on when this priority class should be used. */
  readonly description?: string;
  /** globalDefault specifies whether this PriorityClass should be considered as the default priority for pods that do not have any priority class. Only one PriorityClass can be marked as `globalDefault`. However, if more than one PriorityClasses exists with their `globalDefault` field set to true, the smallest value of such global default PriorityClasses will be used as the default priority. */
  readonly globalDefault?: boolean;
  /** preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, PreemptLowerPriority. Defaults to PreemptLowerPriority if unset. */
  readonly preemptionPolicy?: string;
  /** value represents the integer value of this priority class. This is the actual priority that pods receive when they have the name of this class in their pod spec. */
  readonly value?: number;
}
/** Names priorityclasses of scheduling.k8s.io/v1. */
export const PriorityClass = /* @__PURE__ */ defineKind<PriorityClass>({ group: "scheduling.k8s.io", version: "v1", kind: "PriorityClass", plural: "priorityclasses", namespaced: false });
