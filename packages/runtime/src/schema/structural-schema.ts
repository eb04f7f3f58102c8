// zod → structural OpenAPI v3 as CustomResourceDefinitions want it, or an error that says where and why not.
import { safeParse } from "zod/v4/core";
import type { $ZodObjectDef, $ZodRecordDef, $ZodType, $ZodTypes, $ZodUnionDef } from "zod/v4/core";
import { goPattern } from "./go-pattern.ts";
import { ordered } from "./json-schema-props.ts";
import type { JsonSchemaProps, JsonValue } from "./json-schema-props.ts";
import { applyLength, checksOf, isRefined, nullable, numberSchema, stringSchema, valuesSchema } from "./scalar-schema.ts";
import { SchemaError } from "./schema-error.ts";
import { metaOf } from "./schema-meta.ts";
import type { SchemaMeta } from "./schema-meta.ts";
import { flatUnion } from "./union-schema.ts";

/** A converted schema, and whether the object around it may leave it out. */
export interface StructuralField {
  readonly schema: JsonSchemaProps;
  readonly optional: boolean;
}

interface Place {
  readonly path: string;
  /** What wrappers around this node said. */
  readonly meta: SchemaMeta;
  /** The schemas that this one stands in, to see recursion. */
  readonly within: ReadonlySet<$ZodType>;
}

/**
 * The structural schema of a zod schema.
 *
 * Guarantees: every constraint of the zod schema is either in the result or an error (`SchemaError`, with the path). Errors are
 * plain unions, tuples, transforms, intersections, recursion, `z.any()` without `preserveUnknownFields`, refinements without a CEL rule, regular expressions that Go cannot read.
 * Caveat: named formats (date-time, uri, email …) are checked by the API server's own rules, which differ from zod's at the edges.
 * Unknown keys: `z.object` lets the API server prune them, `z.looseObject` keeps them, `z.strictObject` is an error because the server prunes and never refuses.
 */
export function structuralSchema(schema: $ZodType, path: string): StructuralField {
  return convert(schema, { path, meta: {}, within: new Set() });
}

function convert(schema: $ZodType, { path, meta: outer, within }: Place): StructuralField {
  if (within.has(schema))
    throw new SchemaError(path, "the schema contains itself, and a structural schema cannot; end it with preserveUnknownFields");
  const meta = metaOf(schema, outer);
  const here: Place = { path, meta, within: new Set([...within, schema]) };
  // zod's own union of all schema classes: `type` tells them apart.
  const { def } = (schema as $ZodTypes)._zod;
  if (isRefined(schema) && meta.cel?.length === 0) {
    throw new SchemaError(path, "a refinement runs only in this process; say the same to the API server with .meta({ cel: [{ rule, message }] })");
  }
  if (def.type === "optional") return { ...convert(def.innerType, here), optional: true };
  if (def.type === "nonoptional") return { ...convert(def.innerType, here), optional: false };
  if (def.type === "readonly") return convert(def.innerType, here);
  if (def.type === "lazy") return convert(def.getter(), here);
  if (def.type === "nullable") {
    const inner = convert(def.innerType, here);
    return { ...inner, schema: ordered(nullable(inner.schema)) };
  }
  if (def.type === "default" || def.type === "prefault") {
    const inner = convert(def.innerType, here);
    return { schema: ordered({ ...inner.schema, default: materialised(def.innerType, def.defaultValue, path) }), optional: true };
  }
  return { schema: withMeta(baseSchema(schema, here), here), optional: false };
}

/** A default with the defaults below it filled in, as the API server will store it. */
function materialised(schema: $ZodType, value: unknown, path: string): JsonValue {
  const parsed = safeParse(schema, value);
  if (!parsed.success) throw new SchemaError(path, `the default does not fit its own schema: ${parsed.error.message}`);
  // The schema is structural, so what it parsed is JSON; the round trip drops undefined members.
  return JSON.parse(JSON.stringify(parsed.data)) as JsonValue;
}

function baseSchema(schema: $ZodType, here: Place): JsonSchemaProps {
  const { path, meta } = here;
  if (meta.intOrString === true) {
    return { "x-kubernetes-int-or-string": true, ...(meta.pattern ? { pattern: goPattern(new RegExp(meta.pattern), path) } : {}) };
  }
  const { def } = (schema as $ZodTypes)._zod;
  if ("coerce" in def && def.coerce) throw new SchemaError(path, "coercion accepts other types than it yields, which has no form in a CRD");
  if (def.type === "string") return stringSchema(schema, path);
  if (def.type === "template_literal") return { type: "string", pattern: goPattern(schema._zod.pattern ?? /^/, path) };
  if (def.type === "number") return numberSchema(schema, path);
  if (def.type === "boolean") return { type: "boolean" };
  if (def.type === "enum") return valuesSchema(Object.values(def.entries), path);
  if (def.type === "literal") return valuesSchema(def.values, path);
  if (def.type === "array") return arraySchema(schema, def.element, here);
  if (def.type === "object") return objectSchema(def, here);
  if (def.type === "record") return recordSchema(def, here);
  if (def.type === "union") return unionSchema(def, here);
  if (def.type === "any" || def.type === "unknown") {
    if (meta.preserveUnknownFields === true) return {};
    throw new SchemaError(path, `z.${def.type}() needs .meta({ preserveUnknownFields: true }), else the API server would prune all of it`);
  }
  throw new SchemaError(path, `z.${def.type} ${reasons[def.type] ?? "has no form in a CRD"}`);
}

/** What to do instead, for the schemas that people are likely to try. */
const reasons: Readonly<Record<string, string>> = {
  bigint: "has no form in JSON; use z.int() up to 2^53 or a string",
  catch: "hides what is wrong with the input; use .default()",
  date: "has no form in JSON; use dateTime()",
  intersection: "has no structural form; use .extend() to make one object",
  null: "alone has no structural form; use .nullable()",
  pipe: "changes the value while reading it, which has no form in a CRD",
  transform: "changes the value while reading it, which has no form in a CRD",
  tuple: "has no structural form; use an object with named fields",
};

function arraySchema(schema: $ZodType, element: $ZodType, here: Place): JsonSchemaProps {
  const node: { -readonly [Key in keyof JsonSchemaProps]: JsonSchemaProps[Key] } = { type: "array", items: convertChild(element, here, "[]").schema };
  for (const check of checksOf(schema)) {
    if (!applyLength(node, check, ["minItems", "maxItems"]) && check.check !== "custom") {
      throw new SchemaError(here.path, `the check ${check.check} has no form in a CRD`);
    }
  }
  return node;
}

function convertChild(schema: $ZodType, here: Place, step: string): StructuralField {
  return convert(schema, { path: `${here.path}${step}`, meta: {}, within: here.within });
}

function objectSchema(def: $ZodObjectDef, here: Place): JsonSchemaProps {
  const catchall = def.catchall && (def.catchall as $ZodTypes)._zod.def.type;
  if (catchall === "never")
    throw new SchemaError(here.path, "z.strictObject has no form in a CRD: the API server prunes unknown keys and never refuses them; use z.object");
  if (catchall !== undefined && catchall !== "unknown" && catchall !== "any") {
    throw new SchemaError(here.path, "a catchall beside named properties has no structural form; use z.record or z.looseObject");
  }
  const fields = Object.entries(def.shape).map(([name, schema]) => [name, convertChild(schema, here, `.${name}`)] as const);
  return {
    ...objectOf(fields),
    ...(catchall === undefined ? {} : { "x-kubernetes-preserve-unknown-fields": true }),
  };
}

function objectOf(fields: readonly (readonly [string, StructuralField])[]): JsonSchemaProps {
  const required = fields.filter(([, field]) => !field.optional).map(([name]) => name);
  return {
    type: "object",
    ...(required.length > 0 ? { required } : {}),
    ...(fields.length > 0 ? { properties: Object.fromEntries(fields.map(([name, field]) => [name, field.schema])) } : {}),
  };
}

function recordSchema(def: $ZodRecordDef, here: Place): JsonSchemaProps {
  const { meta, path } = here;
  const keyDef = (def.keyType as $ZodTypes)._zod.def;
  if (keyDef.type === "enum" || keyDef.type === "literal") {
    const names = keyDef.type === "enum" ? Object.values(keyDef.entries) : keyDef.values;
    const field = convertChild(def.valueType, here, "{}");
    const optional = field.optional || ("partial" in def && def.partial);
    return objectOf(names.map((name) => [String(name), { schema: field.schema, optional }]));
  }
  if (keyDef.type !== "string") throw new SchemaError(path, "the keys of a record must be strings");
  if (checksOf(def.keyType).length > 0 && meta.cel?.length === 0) {
    throw new SchemaError(path, "a CRD cannot constrain a record's keys; say it with a CEL rule, such as self.all(key, size(key) < 64)");
  }
  if (meta.preserveUnknownFields === true) return { type: "object" };
  return { type: "object", additionalProperties: convertChild(def.valueType, here, "{}").schema };
}

function unionSchema(def: $ZodUnionDef, here: Place): JsonSchemaProps {
  if (!("discriminator" in def) || typeof def.discriminator !== "string") {
    throw new SchemaError(here.path, "a plain union has no structural form; use z.enum, z.discriminatedUnion, intOrString() or .nullable()");
  }
  const variants = def.options.map((option, index) => convertChild(option, here, `<${index}>`).schema);
  return flatUnion(variants, def.discriminator, here.path);
}

/** Adds what `.meta()` said, checked against what Kubernetes demands of it. */
function withMeta(node: JsonSchemaProps, { path, meta }: Place): JsonSchemaProps {
  const rules = [...(node["x-kubernetes-validations"] ?? []), ...(meta.cel ?? [])];
  for (const { rule, message, messageExpression } of rules) {
    if (rule.trim() === "") throw new SchemaError(path, "a CEL rule is empty");
    if (rule.includes("\n") && !message && !messageExpression) throw new SchemaError(path, "a CEL rule of several lines needs a message");
    if (message?.includes("\n")) throw new SchemaError(path, "the message of a CEL rule must be one line");
  }
  checkListType(node, meta, path);
  return ordered({
    ...node,
    title: meta.title,
    description: meta.description ?? node.description,
    minProperties: meta.minProperties,
    maxProperties: meta.maxProperties,
    "x-kubernetes-preserve-unknown-fields": meta.preserveUnknownFields === true ? true : node["x-kubernetes-preserve-unknown-fields"],
    "x-kubernetes-embedded-resource": meta.embeddedResource,
    "x-kubernetes-list-type": meta.listType,
    "x-kubernetes-list-map-keys": meta.listMapKeys,
    "x-kubernetes-map-type": meta.mapType,
    "x-kubernetes-validations": rules.length > 0 ? rules : undefined,
  });
}

function checkListType(node: JsonSchemaProps, meta: SchemaMeta, path: string): void {
  if ((meta.listType ?? meta.listMapKeys) && node.type !== "array") throw new SchemaError(path, "listType and listMapKeys are for arrays");
  if ((meta.mapType ?? meta.minProperties ?? meta.maxProperties) !== undefined && node.type !== "object") {
    throw new SchemaError(path, "mapType, minProperties and maxProperties are for objects and records");
  }
  if ((meta.listType === "map") !== (meta.listMapKeys !== undefined)) throw new SchemaError(path, `listType "map" and listMapKeys come together`);
  for (const key of meta.listMapKeys ?? []) {
    const property = node.items?.properties?.[key];
    const scalar = property?.type !== undefined && property.type !== "object" && property.type !== "array";
    if (!scalar) throw new SchemaError(path, `the list map key ${key} must be a scalar property of the items`);
    if (!node.items?.required?.includes(key) && property.default === undefined) {
      throw new SchemaError(path, `the list map key ${key} must be required or have a default`);
    }
  }
}
