// The CRDs: what Tengine's document and code have, both versions of it, and nothing of ours that anybody must give.
import { crdOf } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { IngressCheckSum, SecretCheckSum } from "./api.ts";

describe.each([
  [SecretCheckSum, "secretchecksum"],
  [IngressCheckSum, "ingresschecksum"],
] as const)("%o", (kind, singular) => {
  const { spec } = crdOf(kind);

  test("has the predecessor's names, and both of the versions that are said to be its own", () => {
    expect(spec).toMatchObject({ group: "tengine.taobao.org", scope: "Namespaced", names: { plural: `${singular}s`, singular } });
    expect(spec.versions.map(({ name, served, storage }) => ({ name, served, storage }))).toEqual([
      { name: "v1", served: true, storage: true },
      { name: "v1alpha1", served: true, storage: false },
    ]);
  });

  test.each(spec.versions)("$name: only the timestamp must be given, and the ids are one value for server-side apply", ({ schema }) => {
    const { properties, required } = JSON.parse(JSON.stringify(schema?.openAPIV3Schema)).properties.spec;
    expect(required).toEqual(["timestamp"]);
    expect(properties).toMatchObject({
      timestamp: { type: "string", format: "date-time" },
      checksum: { type: "string" },
      ids: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "atomic" },
    });
  });
});
