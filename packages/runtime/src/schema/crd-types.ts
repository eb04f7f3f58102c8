// TypeScript for custom kinds, from their CRDs: a type for each version, with every field and its comment, and a value that names it.
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import { isRecord } from "../json.ts";

/** What of a CRD's schema a type is made from. Whatever else there is is left to the API server. */
interface SchemaNode {
  readonly description?: string | undefined;
  readonly type?: string | undefined;
  readonly nullable?: boolean | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly properties?: Readonly<Record<string, SchemaNode>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly additionalProperties?: SchemaNode | boolean | undefined;
  readonly items?: SchemaNode | undefined;
  readonly "x-kubernetes-int-or-string"?: boolean | undefined;
  readonly "x-kubernetes-embedded-resource"?: boolean | undefined;
}

const nodeSchema: z.ZodType<SchemaNode> = z.object({
  description: z.string().optional(),
  type: z.string().optional(),
  nullable: z.boolean().optional(),
  enum: z.array(z.unknown()).optional(),
  get properties() {
    return z.record(z.string(), nodeSchema).optional();
  },
  required: z.array(z.string()).optional(),
  get additionalProperties() {
    return z.union([z.boolean(), nodeSchema]).optional();
  },
  get items() {
    return nodeSchema.optional();
  },
  "x-kubernetes-int-or-string": z.boolean().optional(),
  "x-kubernetes-embedded-resource": z.boolean().optional(),
});

/** A name that TypeScript takes as it is. */
const identifier = z.string().regex(/^[A-Za-z]\w*$/, "is no name for a type");

const crdSchema = z.object({
  spec: z.object({
    group: z.string(),
    scope: z.enum(["Namespaced", "Cluster"]),
    names: z.object({ kind: identifier, plural: z.string() }),
    versions: z
      .array(z.object({ name: identifier, storage: z.boolean(), schema: z.object({ openAPIV3Schema: nodeSchema.optional() }).optional() }))
      .min(1),
  }),
});

type Definition = z.infer<typeof crdSchema>["spec"];

/** The module for the CRDs among YAML documents, or JSON; a `List` of them too. Throws if there is none, or one cannot be read. */
export function typesOfCrds(text: string): string {
  const documents = parseAllDocuments(text).flatMap((document) => {
    if (document.errors[0]) throw new Error(`reading YAML: ${document.errors[0].message}`);
    const value: unknown = document.toJS();
    return isRecord(value) && value["kind"] === "List" && Array.isArray(value["items"]) ? (value["items"] as unknown[]) : [value];
  });
  const definitions = documents.filter((each) => isRecord(each) && each["kind"] === "CustomResourceDefinition").map(readDefinition);
  if (definitions.length === 0) throw new Error("there is no CustomResourceDefinition");
  const body = definitions.flatMap((definition) => definition.versions.map((version) => renderVersion(definition, version)));
  const head = ["// Written by `keyturn-runtime types` from CustomResourceDefinitions: do not edit.", importLine, "", ""].join("\n");
  return head + body.join("\n");
}

const importLine = 'import { defineKind, type KubeObject } from "@keyturn/runtime";';

function readDefinition(document: unknown): Definition {
  const parsed = crdSchema.safeParse(document);
  if (parsed.success) return parsed.data.spec;
  const [issue] = parsed.error.issues;
  throw new Error(`reading a CustomResourceDefinition: ${issue?.path.join(".")}: ${issue?.message}`);
}

/** The stored version has the kind's own name; others have theirs behind it. */
function renderVersion({ group, scope, names, versions }: Definition, version: Definition["versions"][number]): string {
  const { kind, plural } = names;
  const name = version.storage || versions.length === 1 ? kind : kind + version.name[0]?.toUpperCase() + version.name.slice(1);
  const root = version.schema?.openAPIV3Schema ?? {};
  const fields = Object.entries(root.properties ?? {}).filter(([field]) => !["apiVersion", "kind", "metadata"].includes(field));
  const where = [
    ["group", group],
    ["version", version.name],
    ["kind", kind],
    ["plural", plural],
  ].map(([field, value]) => `${field}: ${JSON.stringify(value)}`);
  return [
    `${docComment(root.description ?? "", "")}export interface ${name} extends KubeObject {\n${renderFields(fields, root.required, "  ")}}\n`,
    `/** Names ${plural.replaceAll(/\W/g, "")} at version ${version.name}. */\n`,
    `export const ${name} = /* @__PURE__ */ defineKind<${name}>({ ${where.join(", ")}, namespaced: ${scope === "Namespaced"} });\n`,
  ].join("");
}

function renderFields(fields: readonly (readonly [string, SchemaNode])[], required: readonly string[] = [], indent: string): string {
  return fields
    .map(([field, node]) => {
      const written = /^[A-Za-z_$][\w$]*$/.test(field) ? field : JSON.stringify(field);
      return `${docComment(node.description ?? "", indent)}${indent}readonly ${written}${required.includes(field) ? "" : "?"}: ${typeOf(node, indent)};\n`;
    })
    .join("");
}

function typeOf(node: SchemaNode, indent: string): string {
  const type = plainTypeOf(node, indent);
  return node.nullable && type !== "unknown" ? `${type} | null` : type;
}

function plainTypeOf(node: SchemaNode, indent: string): string {
  if (node["x-kubernetes-int-or-string"]) return "number | string";
  if (node["x-kubernetes-embedded-resource"]) return "KubeObject";
  // JSON's notation of a value is TypeScript's of a type that has no other.
  if (node.enum && node.enum.length > 0 && node.enum.every((value) => !isRecord(value) && !Array.isArray(value)))
    return node.enum.map((value) => JSON.stringify(value)).join(" | ");
  switch (node.type) {
    case "string":
    case "boolean":
      return node.type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return `readonly ${grouped(node.items ? typeOf(node.items, indent) : "unknown")}[]`;
    case "object":
      return objectType(node, indent);
    case undefined:
    default:
      return node.properties ? objectType(node, indent) : "unknown";
  }
}

function objectType({ properties, required, additionalProperties }: SchemaNode, indent: string): string {
  const fields = Object.entries(properties ?? {});
  if (fields.length > 0) return `{\n${renderFields(fields, required, `${indent}  `)}${indent}}`;
  return `Readonly<Record<string, ${typeof additionalProperties === "object" ? typeOf(additionalProperties, indent) : "unknown"}>>`;
}

/** A type as an item of an array: what is made of several words goes in brackets. */
export function grouped(type: string): string {
  return /^[\w.]+$|^\{[^]*\}$/.test(type) ? type : `(${type})`;
}

/** A comment for editors, on one line or on as many as the text has. Nothing for no text. */
export function docComment(text: string, indent: string): string {
  const lines = text.trim().replaceAll("*/", "* /").split("\n");
  if (text.trim() === "") return "";
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line.trimEnd()}`.trimEnd()).join("\n")}\n${indent} */\n`;
}
