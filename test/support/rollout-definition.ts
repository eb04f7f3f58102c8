// Argo Rollouts as far as tests need them: a CRD that keeps whatever is written, and an object.
import { apiVersionOf, type CustomResourceDefinition, resourceOf } from "@keyturn/runtime";
import { restartTime, rolloutLabel, rolloutLabelValue } from "../../packages/keyturn/src/workloads/annotations.ts";
import { Rollout } from "../../packages/keyturn/src/workloads/workload.ts";

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** To be applied by tests. */
export const rolloutDefinition: CustomResourceDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: resourceOf(Rollout) },
  spec: {
    group: Rollout.group,
    scope: "Namespaced",
    names: { kind: Rollout.kind, plural: Rollout.plural },
    versions: [{ name: Rollout.version, served: true, storage: true, schema: { openAPIV3Schema: anything }, subresources: { status: {} } }],
  },
};

/** A Rollout as it is while the operator restarts it: nothing of it was replaced yet. */
export function restartedRollout(namespace: string, name: string): Rollout {
  const labels = { app: name };
  return {
    apiVersion: apiVersionOf(Rollout),
    kind: Rollout.kind,
    metadata: { namespace, name, labels: { [rolloutLabel]: rolloutLabelValue } },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "app", image: "example.com/app:1" }] } },
      restartAt: restartTime(Date.now()),
    },
  };
}
