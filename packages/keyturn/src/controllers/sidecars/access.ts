// Every right that the controller needs.
import {
  type AccessRule,
  ConfigMap,
  DaemonSet,
  Deployment,
  MutatingWebhookConfiguration,
  Namespace,
  Pod,
  ReplicaSet,
  StatefulSet,
} from "@keyturn/runtime";
import { Rollout } from "./rollout-kind.ts";

const seen = ["list", "watch"] as const;
const restarted = ["list", "watch", "patch"] as const;
const why = "to see what pods are made from and how rollouts fare, and to restart";

const configured = "to notice when Istio's injectors are configured anew";

const always: readonly AccessRule[] = [
  { kind: MutatingWebhookConfiguration, verbs: seen, why: "to know which webhook would inject a pod" },
  { kind: ConfigMap, verbs: seen, why: configured },
  { kind: Namespace, verbs: seen, why: "to read the labels that decide about injection and restarts" },
  { kind: Pod, verbs: seen, why: "to compare their sidecars with what new ones would get" },
  { kind: ReplicaSet, verbs: seen, why: "to know which Deployment a pod belongs to; only their metadata is read" },
  { kind: Deployment, verbs: restarted, why },
  { kind: StatefulSet, verbs: restarted, why },
  { kind: DaemonSet, verbs: restarted, why },
];

/** The rights, which depend on what is to be restarted, and on where Istio is: also an operator that is limited to some namespaces has to look there. */
export function sidecarsAccess(options: { readonly argoRollouts: boolean; readonly istioNamespaces: readonly string[] }): readonly AccessRule[] {
  return [
    ...always,
    ...options.istioNamespaces.map((namespace): AccessRule => ({ kind: ConfigMap, verbs: seen, namespace, why: configured })),
    ...(options.argoRollouts ? [{ kind: Rollout, verbs: restarted, why }] : []),
  ];
}
