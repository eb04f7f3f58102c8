// The CRD of the kind that the differential test writes besides the built-in ones.
import type { KubeObject } from "../../src/client/kind.ts";

const text = { type: "string" };

const conditions = {
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["type"],
  items: { type: "object", required: ["type"], properties: { type: text, status: text, reason: text } },
};

const spec = {
  type: "object",
  properties: {
    some: text,
    one: text,
    two: text,
    three: text,
    list: { type: "array", items: text },
    nested: { type: "object", additionalProperties: text },
  },
};

/** Widgets: a status subresource, and conditions that merge by type. */
export const widgetDefinition: KubeObject & { readonly spec: object } = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.sim.keyturn.io" },
  spec: {
    group: "sim.keyturn.io",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: { spec, status: { type: "object", properties: { conditions, count: { type: "integer" } } } },
          },
        },
      },
    ],
  },
};
