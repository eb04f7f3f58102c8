// The kind is the predecessor's: its manifests, and what reads its status, go on working.
import { crdOf } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { EventingAuth } from "./api.ts";

const { metadata, spec } = crdOf(EventingAuth);
const [version] = spec.versions;

test("has the predecessor's names, and a short one besides", () => {
  expect(metadata.name).toBe("eventingauths.operator.kyma-project.io");
  expect(spec).toMatchObject({
    group: "operator.kyma-project.io",
    scope: "Namespaced",
    names: { kind: "EventingAuth", listKind: "EventingAuthList", plural: "eventingauths", singular: "eventingauth" },
  });
  expect(spec.names.shortNames).toEqual(["evauth"]);
  expect(spec.versions.map(({ name, served, storage }) => ({ name, served, storage }))).toEqual([{ name: "v1alpha1", served: true, storage: true }]);
});

test("has the predecessor's schema: a spec without fields that may be absent, and a status that must have a state", () => {
  const schema = version?.schema?.openAPIV3Schema;
  expect(schema).not.toHaveProperty("required");
  expect(schema).toMatchObject({
    properties: {
      spec: { type: "object" },
      status: {
        type: "object",
        required: ["state"],
        properties: {
          state: { type: "string", enum: ["Ready", "NotReady"] },
          iasApplication: { type: "object", required: ["name", "uuid"] },
          secret: { type: "object", required: ["clusterId", "namespacedName"] },
          conditions: { type: "array", "x-kubernetes-list-type": "atomic" },
        },
      },
    },
  });
  expect(version?.subresources).toEqual({ status: {} });
});

test("shows the predecessor's column first", () => {
  expect(version?.additionalPrinterColumns?.[0]).toMatchObject({ name: "State", type: "string", jsonPath: ".status.state" });
});
