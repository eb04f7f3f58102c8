// Kinds of other projects that the chart can make objects of: just enough of a definition for the API server to store them. Their own schemas are not checked.
import { apiVersionOf, CustomResourceDefinition, type KubeObject } from "@keyturn/runtime";

/** The definition of a kind of others, as above. */
export function foreignKind(group: string, kind: string, version = "v1"): KubeObject & { readonly spec: object } {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: apiVersionOf(CustomResourceDefinition),
    kind: CustomResourceDefinition.kind,
    metadata: {
      name: `${plural}.${group}`,
      // Groups of Kubernetes' own are guarded; this one belongs to the autoscaler's project.
      annotations: { "api-approved.kubernetes.io": "unapproved, for tests" },
    },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}

/** Of the Prometheus Operator and the vertical autoscaler. */
export const foreignKinds: readonly KubeObject[] = [
  ...["ServiceMonitor", "PodMonitor", "PrometheusRule"].map((kind) => foreignKind("monitoring.coreos.com", kind)),
  foreignKind("autoscaling.k8s.io", "VerticalPodAutoscaler"),
];
