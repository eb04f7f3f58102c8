// What becomes of a CRD: the text of a module, whatever stands in the CRD.
import { expect, it } from "vitest";
import * as z from "zod";
import { crdOf, yamlDocuments } from "./crd.ts";
import { typesOfCrds } from "./crd-types.ts";
import { defineCustomKind } from "./custom-kind.ts";

/** A CRD with one version, as JSON, which is YAML. */
function crdWith(openAPIV3Schema: object, names: object = { kind: "Site", plural: "sites" }): string {
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }];
  return JSON.stringify({ kind: "CustomResourceDefinition", spec: { group: "example.org", scope: "Cluster", names, versions } });
}

/** How the one field of a spec is written. */
function fieldOf(schema: object, name = "field"): string | undefined {
  const text = typesOfCrds(crdWith({ type: "object", properties: { spec: { type: "object", properties: { [name]: schema } } } }));
  return /^ {4}readonly ([^]*?);\n {2}\}/m.exec(text)?.[1];
}

it("writes a type with its comments and a value for each version, the stored one under the kind's name", () => {
  const kind = defineCustomKind({
    group: "example.org",
    kind: "Site",
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        storage: true,
        description: "Where it is.",
        spec: z.object({ host: z.string().describe("Its name."), port: z.int().optional() }),
      },
      { name: "v1beta1", spec: z.object({ host: z.string() }) },
    ],
  });
  expect(typesOfCrds(yamlDocuments([crdOf(kind)]))).toBe(
    [
      "// Written by `keyturn-runtime types` from CustomResourceDefinitions: do not edit.",
      'import { defineKind, type KubeObject } from "@keyturn/runtime";',
      "",
      "/** Where it is. */",
      "export interface Site extends KubeObject {",
      "  readonly spec: {",
      "    /** Its name. */",
      "    readonly host: string;",
      "    readonly port?: number;",
      "  };",
      "}",
      "/** Names sites at version v1. */",
      'export const Site = /* @__PURE__ */ defineKind<Site>({ group: "example.org", version: "v1", kind: "Site", plural: "sites", namespaced: true });',
      "",
      "export interface SiteV1beta1 extends KubeObject {",
      "  readonly spec: {",
      "    readonly host: string;",
      "  };",
      "}",
      "/** Names sites at version v1beta1. */",
      'export const SiteV1beta1 = /* @__PURE__ */ defineKind<SiteV1beta1>({ group: "example.org", version: "v1beta1", kind: "Site", plural: "sites", namespaced: true });',
      "",
    ].join("\n"),
  );
});

it.each([
  [{ type: "integer", format: "int64" }, "field?: number"],
  [{ type: "string", enum: ["a", "b"] }, 'field?: "a" | "b"'],
  [{ type: "string", nullable: true }, "field?: string | null"],
  [{ "x-kubernetes-int-or-string": true }, "field?: number | string"],
  [{ type: "array", items: { type: "string", enum: ["a", "b"] } }, 'field?: readonly ("a" | "b")[]'],
  [{ type: "array", items: { type: "array", items: { type: "number" } } }, "field?: readonly (readonly number[])[]"],
  [{ type: "object", additionalProperties: { type: "boolean" } }, "field?: Readonly<Record<string, boolean>>"],
  [{ type: "object", "x-kubernetes-preserve-unknown-fields": true }, "field?: Readonly<Record<string, unknown>>"],
  [{ type: "object", "x-kubernetes-embedded-resource": true }, "field?: KubeObject"],
  [{ "x-kubernetes-preserve-unknown-fields": true }, "field?: unknown"],
  [{ type: "string", enum: [{}] }, "field?: string"],
])("writes %j", (schema, written) => expect(fieldOf(schema)).toBe(written));

it("reads several documents and a List, and passes over what is no CRD", () => {
  const [one, two] = [crdWith({}), crdWith({}, { kind: "Page", plural: "pages" })];
  const list = `${JSON.stringify({ kind: "List", items: [JSON.parse(one), { kind: "ConfigMap" }] })}\n---\n${two}`;
  expect(typesOfCrds(list).match(/export const \w+/g)).toEqual(["export const Site", "export const Page"]);
});

it("lets no text of a CRD become code", () => {
  expect(fieldOf({ type: "string" }, 'a"; evil(); "')).toBe('"a\\"; evil(); \\""?: string');
  expect(typesOfCrds(crdWith({ description: "*/ evil(); /*" }))).toContain("/** * / evil(); /* */");
  expect(typesOfCrds(crdWith({}, { kind: "Site", plural: "*/evil" }))).toContain('plural: "*/evil"');
  expect(() => typesOfCrds(crdWith({}, { kind: "Site {}; evil()", plural: "sites" }))).toThrow("spec.names.kind: is no name for a type");
});

it("says what it cannot read", () => {
  expect(() => typesOfCrds("kind: ConfigMap")).toThrow("there is no CustomResourceDefinition");
  expect(() => typesOfCrds("kind: CustomResourceDefinition\nspec: {}")).toThrow("reading a CustomResourceDefinition: spec.group: ");
  expect(() => typesOfCrds("a: [")).toThrow("reading YAML: ");
});
