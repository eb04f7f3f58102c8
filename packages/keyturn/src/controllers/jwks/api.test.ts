// The CRDs: structural, with the columns and defaults that users rely on, and the predecessor's schema as it was.
import { crdOf } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { JWKS, JWKSConfig } from "./api.ts";

const versionOf = (kind: typeof JWKSConfig | typeof JWKS) => crdOf(kind).spec.versions[0];
const columnsOf = (kind: typeof JWKSConfig | typeof JWKS) => kind.definition.versions[0].columns.map(({ name, type }) => `${name}: ${type}`);
const specOf = (kind: typeof JWKSConfig | typeof JWKS) => JSON.parse(JSON.stringify(versionOf(kind)?.schema?.openAPIV3Schema)).properties.spec;

describe("JWKSConfig", () => {
  test("shows at a glance what there is to know", () => {
    expect(columnsOf(JWKSConfig)).toEqual([
      "Ready: string",
      "Keys: integer",
      "Next removal: string",
      "Reason: string",
      "Key ID: string",
      "ConfigMap: string",
      "Age: date",
    ]);
  });

  test("has the documented fields and defaults", () => {
    const { properties, required } = specOf(JWKSConfig);
    expect(required).toEqual(["certificateSecret", "configMapName"]);
    expect(properties).toMatchObject({
      endpoint: { default: "/jwks.json" },
      updateStrategy: { default: "rolling", enum: ["rolling", "immediate"] },
      keepOldKeys: { default: true },
      oldKeysTTL: { default: "720h" },
      cleanupOnDelete: { default: false },
      keyId: { default: "Thumbprint" },
    });
    expect(properties.nginx).not.toHaveProperty("default");
  });
});

describe("JWKS", () => {
  test("has the names, columns and fields of the predecessor", () => {
    expect(crdOf(JWKS).spec).toMatchObject({
      group: "rieset.io",
      scope: "Namespaced",
      names: { kind: "JWKS", listKind: "JWKSList", plural: "jwks", singular: "jwks", shortNames: ["jwks"] },
    });
    const wide = new Set(["Reason: string", "Next removal: string"]);
    expect(columnsOf(JWKS).filter((column) => !wide.has(column))).toEqual(["Secret: string", "ConfigMap: string", "Ready: string", "Age: date"]);
    const { properties, required } = specOf(JWKS);
    expect(required).toEqual(["certificateSecret", "configMapName"]);
    expect(Object.keys(properties).sort()).toEqual([
      "certificateSecret",
      "configMapName",
      "endpoint",
      "jwksUpdateInterval",
      "jwksVerificationInterval",
      "keepOldKeys",
      "nginxConfigMapName",
      "oldKeysTTL",
      "reconcileInterval",
      "updateStrategy",
    ]);
  });
});
