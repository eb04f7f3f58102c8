// zod → structural OpenAPI v3 as CustomResourceDefinitions want it, or an error that says where and why not: zod makes JSON Schema, and this makes it structural.
import { globalRegistry, safeParse, toJSONSchema } from "zod/v4/core";
import type { $ZodCheck, $ZodCheckDef, $ZodObjectDef, $ZodRecordDef, $ZodType, $ZodTypes } from "zod/v4/core";
import { type CelRule, type JsonSchemaProps, type JsonValue, ordered } from "./json-schema-props.ts";

/** A zod schema uses something that a CustomResourceDefinition cannot say. `path` is where, such as `spec.rules[].port`. */
export class SchemaError extends Error {
  readonly code = "NotStructural";
  readonly path: string;
  constructor(path: string, reason: string) {
    super(`${path}: ${reason}`);
    this.name = "SchemaError";
    this.path = path;
  }
}

/** What `.meta({ … })` on a zod schema can say to Kubernetes, beside `description` and `title`. All optional. */
interface KubernetesMeta {
  /**
   * CEL rules on this node. The API server refuses a CRD whose rules could cost too much, and it assumes the worst of what has no bound:
   * give strings `.max()`, arrays `.max()` and records `maxProperties` wherever a rule reads them.
   */
  readonly cel?: readonly CelRule[] | undefined;
  /** How server-side apply merges an array. */
  readonly listType?: "atomic" | "set" | "map" | undefined;
  /** With `listType: "map"`: the properties that identify an item; each must be required or have a default. */
  readonly listMapKeys?: readonly string[] | undefined;
  /** How server-side apply merges an object. */
  readonly mapType?: "atomic" | "granular" | undefined;
  readonly minProperties?: number | undefined;
  readonly maxProperties?: number | undefined;
  /** Keeps whatever stands below this node; the only way to use `z.unknown()` and `z.any()`. */
  readonly preserveUnknownFields?: boolean | undefined;
  /** The node is a Kubernetes object of its own (apiVersion, kind, metadata). */
  readonly embeddedResource?: boolean | undefined;
  /** The node is an integer or a string. */
  readonly intOrString?: boolean | undefined;
  /** A regular expression for the node; only for `intOrString` nodes, which have no place for one in zod. */
  readonly pattern?: string | undefined;
}

declare module "zod/v4/core" {
  // Makes the compiler check these keys in `.meta({ … })`.
  interface GlobalMeta extends KubernetesMeta {}
}

/** A converted schema, and whether the object around it may leave it out. */
interface StructuralField {
  readonly schema: JsonSchemaProps;
  readonly optional: boolean;
}

/**
 * The structural schema of a zod schema.
 *
 * Guarantees: every constraint of the zod schema is either in the result or an error (`SchemaError`, with the path). Errors are
 * unions, nullables, tuples, transforms, intersections, recursion, `z.any()` without `preserveUnknownFields`, refinements without a CEL rule, regular expressions that Go cannot read.
 * Caveat: named formats (date-time, uri, email …) are checked by the API server's own rules, which differ from zod's at the edges.
 * Unknown keys: `z.object` lets the API server prune them, `z.looseObject` keeps them, `z.strictObject` is an error because the server prunes and never refuses.
 */
export function structuralSchema(schema: $ZodType, path: string): StructuralField {
  const json = toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    // What zod cannot say is refused below, with the path.
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema, path: steps }) =>
      void Object.assign(jsonSchema, detailsOf(zodSchema, jsonSchema as JsonNode, placeOf(path, steps))),
  });
  // The decoder of what zod and `detailsOf` have made.
  return { schema: structural(json as JsonNode, path), optional: schema._zod.optin !== undefined };
}

/** A node of JSON Schema on its way: zod's keywords, `.meta({ … })`, and what only the zod schema knows. */
interface JsonNode
  extends
    Omit<JsonSchemaProps, "properties" | "items" | "additionalProperties">,
    Omit<KubernetesMeta, "minProperties" | "maxProperties" | "pattern"> {
  readonly properties?: Readonly<Record<string, JsonNode>>;
  readonly items?: JsonNode;
  readonly additionalProperties?: JsonNode;
  readonly $ref?: string;
  /** Why the node needs a CEL rule. */
  readonly needsRule?: string;
  /** Why the node has no structural form; a union may turn out to be `intOrString`. */
  readonly refused?: string;
}

type Details = { readonly [Key in keyof JsonNode]: JsonNode[Key] | undefined };
type CheckDef = $ZodCheckDef & Readonly<Record<string, unknown>>;

/** JSON Schema's way to a node, as people write it: `spec.rules[].port`. */
function placeOf(root: string, steps: readonly (string | number)[]): string {
  let place = root;
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index];
    if (step === "properties") place += `.${steps[++index]}`;
    else if (step === "items") place += "[]";
    else if (step === "additionalProperties") place += "{}";
  }
  return place;
}

const wrappers: ReadonlySet<string> = new Set(["optional", "nonoptional", "readonly", "lazy", "default", "prefault"]);

/** What to do instead, for the schemas that people are likely to try. */
const reasons: Readonly<Record<string, string>> = {
  bigint: "has no form in JSON; use z.int() up to 2^53 or a string",
  catch: "hides what is wrong with the input; use .default()",
  date: "has no form in JSON; use dateTime()",
  intersection: "has no structural form; use .extend() to make one object",
  null: "has no structural form; use .optional()",
  nullable: "has no structural form that this makes; use .optional()",
  pipe: "changes the value while reading it, which has no form in a CRD",
  transform: "changes the value while reading it, which has no form in a CRD",
  tuple: "has no structural form; use an object with named fields",
  union: "has no structural form; use z.enum, intOrString(), or one object with a CEL rule",
};

/** What of a zod schema JSON Schema does not show, or shows otherwise. Throws for what has no structural form. */
function detailsOf(schema: $ZodTypes, json: JsonNode, path: string): Details {
  const { def } = schema._zod;
  const meta = globalRegistry.get(schema);
  const checks = checksOf(schema);
  if ("coerce" in def && def.coerce) throw new SchemaError(path, "coercion accepts other types than it yields, which has no form in a CRD");
  const common = {
    cel: rulesOf(schema),
    ...(checks.some(({ check }) => check === "custom") && {
      needsRule: "a refinement runs only in this process; say the same to the API server with .meta({ cel: [{ rule, message }] })",
    }),
  };
  if (def.type === "default" || def.type === "prefault") return { ...common, default: materialised(def.innerType, def.defaultValue, path) };
  if (wrappers.has(def.type)) return common;
  if (def.type === "string") return { ...common, ...stringDetails(checks, path) };
  if (def.type === "template_literal") return { ...common, pattern: goPattern(schema._zod.pattern ?? /^/, path) };
  if (def.type === "number") return { ...common, ...numberDetails(checks, json, path) };
  if (def.type === "enum") return { ...common, type: typeOf(Object.values(def.entries), path) };
  if (def.type === "literal") return { ...common, type: typeOf(def.values, path) };
  if (def.type === "object") return { ...common, ...objectDetails(def, path) };
  if (def.type === "record") return { ...common, ...recordDetails(def, json, path) };
  if (def.type === "union") return { ...common, refused: meta?.intOrString === true ? undefined : `z.union ${reasons["union"]}` };
  if (def.type === "array") refuseOthers(checks, ["min_length", "max_length", "length_equals"], path);
  else if (def.type !== "boolean" && def.type !== "any" && def.type !== "unknown") {
    throw new SchemaError(path, `z.${def.type} ${reasons[def.type] ?? "has no form in a CRD"}`);
  }
  return common;
}

/** All checks of a schema in the order of their declaration; a format schema such as `z.email()` is its own first check. */
function checksOf(schema: $ZodType): readonly CheckDef[] {
  const { def } = schema._zod;
  const own = "check" in def ? [schema as unknown as $ZodCheck] : [];
  // A check's definition is a plain record; which fields it has follows from `check`.
  return [...own, ...(def.checks ?? [])].map((check) => check._zod.def as CheckDef);
}

function refuseOthers(checks: readonly CheckDef[], known: readonly string[], path: string): void {
  const other = checks.find(({ check }) => check !== "custom" && !known.includes(check));
  if (other?.check === "overwrite")
    throw new SchemaError(
      path,
      "a string that is changed while it is read (trim, toLowerCase …) has no form in a CRD; constrain it with a regex instead",
    );
  if (other) throw new SchemaError(path, `the check ${other.check} has no form in a CRD`);
}

/** The rules of a node and of all that it wraps, the innermost first. */
function rulesOf(schema: $ZodType): readonly CelRule[] {
  // zod's own union of all schema classes: `type` distinguishes them.
  const { def } = (schema as $ZodTypes)._zod;
  const inner = def.type === "lazy" ? def.getter() : "innerType" in def ? def.innerType : undefined;
  return [...(inner ? rulesOf(inner) : []), ...(globalRegistry.get(schema)?.cel ?? [])];
}

/** A default with the defaults below it filled in, as the API server will store it. */
function materialised(schema: $ZodType, value: unknown, path: string): JsonValue {
  const parsed = safeParse(schema, value);
  if (!parsed.success) throw new SchemaError(path, `the default does not fit its own schema: ${parsed.error.message}`);
  // The schema is structural, so what it parsed is JSON; the round trip drops undefined members.
  return JSON.parse(JSON.stringify(parsed.data)) as JsonValue;
}

/** zod's string formats that the API server checks by name. Others are given as their pattern. */
const formatNames: ReadonlyMap<unknown, string> = new Map([
  ["date", "date"],
  ["datetime", "date-time"],
  ["email", "email"],
  ["guid", "uuid"],
  ["ipv4", "ipv4"],
  ["ipv6", "ipv6"],
  ["url", "uri"],
  ["uuid", "uuid"],
]);

function stringDetails(checks: readonly CheckDef[], path: string): Details {
  refuseOthers(checks, ["min_length", "max_length", "length_equals", "string_format"], path);
  const patterns = new Set<string>();
  let format: string | undefined;
  for (const check of checks) {
    if (check.check !== "string_format") continue;
    const name = formatNames.get(check["format"]);
    format = name ?? format;
    if (name === undefined && !(check["pattern"] instanceof RegExp))
      throw new SchemaError(path, `the string format ${String(check["format"])} has no form in a CRD; use a regex`);
    if (name === undefined && check["pattern"] instanceof RegExp) patterns.add(goPattern(check["pattern"], path));
    if (name !== "date-time") continue;
    if (check["local"] === true || typeof check["precision"] === "number")
      throw new SchemaError(path, "local date-times and a fixed precision have no form in a CRD; use z.iso.datetime({ offset: true })");
    if (check["offset"] !== true) patterns.add("Z$");
  }
  const [pattern, ...more] = patterns;
  return { format, pattern, allOf: more.length > 0 ? more.map((each) => ({ pattern: each })) : undefined };
}

/** With their bounds, because older API servers (seen on 1.33) do not check the format of an int32. */
const numberFormats: ReadonlyMap<unknown, string> = new Map([
  ["safeint", "int64"],
  ["int32", "int32"],
  ["uint32", "int64"],
  ["float32", "float"],
  ["float64", "double"],
]);

/** Bounds that say no more than the format does. */
const formatBounds: ReadonlySet<number | undefined> = new Set([Number.MAX_SAFE_INTEGER, 3.4028234663852886e38, Number.MAX_VALUE]);

function numberDetails(checks: readonly CheckDef[], { minimum, maximum }: JsonNode, path: string): Details {
  refuseOthers(checks, ["greater_than", "less_than", "multiple_of", "number_format"], path);
  if (checks.filter(({ check }) => check === "multiple_of").length > 1) throw new SchemaError(path, "a CRD takes one multipleOf, not several");
  const formats = checks.flatMap((check) => (check.check === "number_format" ? [check["format"]] : []));
  return {
    format: numberFormats.get(formats.at(-1)),
    minimum: formatBounds.has(minimum === undefined ? undefined : -minimum) ? undefined : minimum,
    maximum: formatBounds.has(maximum) ? undefined : maximum,
  };
}

/** The one type of all values. */
function typeOf(values: readonly unknown[], path: string): JsonSchemaProps["type"] {
  const types = new Set(values.map((value) => (Number.isInteger(value) ? "integer" : typeof value)));
  if (types.size === 2 && types.has("integer") && types.has("number")) return "number";
  const [type] = types;
  if (types.size === 1 && (type === "string" || type === "integer" || type === "number" || type === "boolean")) return type;
  throw new SchemaError(path, `the values ${values.map(String).join(", ")} are not all strings, all numbers or all booleans`);
}

function objectDetails(def: $ZodObjectDef, path: string): Details {
  const catchall = def.catchall?._zod.def.type;
  if (catchall === undefined) return {};
  if (catchall === "never")
    throw new SchemaError(path, "z.strictObject has no form in a CRD: the API server prunes unknown keys and never refuses them; use z.object");
  if (catchall !== "unknown" && catchall !== "any")
    throw new SchemaError(path, "a catchall beside named properties has no structural form; use z.record or z.looseObject");
  return { preserveUnknownFields: true };
}

function recordDetails(def: $ZodRecordDef, { additionalProperties: value = {} }: JsonNode, path: string): Details {
  // zod's own union of all schema classes: `type` distinguishes them.
  const keys = (def.keyType as $ZodTypes)._zod.def;
  if (keys.type === "enum" || keys.type === "literal") {
    const names = (keys.type === "enum" ? Object.values(keys.entries) : keys.values).map(String);
    const optional = def.valueType._zod.optin !== undefined || ("partial" in def && def.partial);
    const properties = Object.fromEntries(names.map((name) => [name, value]));
    return { properties, required: optional ? undefined : names, additionalProperties: undefined };
  }
  if (keys.type !== "string" || ("mode" in def && def.mode === "loose")) throw new SchemaError(path, "the keys of a record must be strings");
  if (checksOf(def.keyType).length === 0) return {};
  return { needsRule: "a CRD cannot constrain a record's keys; say it with a CEL rule, such as self.all(key, size(key) < 64)" };
}

/** The node as Kubernetes writes it, checked against what Kubernetes demands. */
function structural(node: JsonNode, path: string): JsonSchemaProps {
  if (node.$ref !== undefined || node.allOf?.some((part) => "$ref" in part))
    throw new SchemaError(path, "the schema contains itself, and a structural schema cannot; end it with preserveUnknownFields");
  const { title, description, default: fallback, cel = [], needsRule, preserveUnknownFields: keeps, properties = {}, items } = node;
  if (needsRule !== undefined && cel.length === 0) throw new SchemaError(path, needsRule);
  checkRules(cel, path);
  // A pattern that fails keeps rules from being looked at, and shows itself: where a rule says the same in words, that is enough.
  const isInWords = cel.some(({ rule, message }) => message !== undefined && rule.startsWith("self.matches("));
  const shared = {
    title,
    description,
    default: fallback,
    "x-kubernetes-validations": cel.length > 0 ? cel : undefined,
    ...(isInWords && { pattern: undefined }),
  };
  if (node.intOrString) {
    const pattern = node.pattern === undefined ? undefined : goPattern(new RegExp(node.pattern), path);
    return ordered({ ...shared, pattern, "x-kubernetes-int-or-string": true });
  }
  if (node.refused !== undefined) throw new SchemaError(path, node.refused);
  if (node.type === undefined && !keeps)
    throw new SchemaError(path, "z.any() and z.unknown() need .meta({ preserveUnknownFields: true }), else the API server would prune all of it");
  checkListType(node, path);
  const fields = Object.entries(properties).map(([name, field]) => [name, structural(field, `${path}.${name}`)] as const);
  return ordered({
    ...node,
    ...shared,
    properties: fields.length > 0 ? Object.fromEntries(fields) : undefined,
    items: items && structural(items, `${path}[]`),
    additionalProperties: keeps ? undefined : node.additionalProperties && structural(node.additionalProperties, `${path}{}`),
    "x-kubernetes-preserve-unknown-fields": keeps ? true : undefined,
    "x-kubernetes-embedded-resource": node.embeddedResource,
    "x-kubernetes-list-type": node.listType,
    "x-kubernetes-list-map-keys": node.listMapKeys,
    "x-kubernetes-map-type": node.mapType,
  });
}

function checkRules(rules: readonly CelRule[], path: string): void {
  for (const { rule, message, messageExpression } of rules) {
    if (rule.trim() === "") throw new SchemaError(path, "a CEL rule is empty");
    if (rule.includes("\n") && !message && !messageExpression) throw new SchemaError(path, "a CEL rule of several lines needs a message");
    if (message?.includes("\n")) throw new SchemaError(path, "the message of a CEL rule must be one line");
  }
}

function checkListType({ type, items, listType, listMapKeys, mapType, minProperties, maxProperties }: JsonNode, path: string): void {
  if ((listType ?? listMapKeys) && type !== "array") throw new SchemaError(path, "listType and listMapKeys are for arrays");
  if ((mapType ?? minProperties ?? maxProperties) !== undefined && type !== "object") {
    throw new SchemaError(path, "mapType, minProperties and maxProperties are for objects and records");
  }
  if ((listType === "map") !== (listMapKeys !== undefined)) throw new SchemaError(path, `listType "map" and listMapKeys come together`);
  for (const key of listMapKeys ?? []) {
    const property = items?.properties?.[key];
    const scalar = property?.type !== undefined && property.type !== "object" && property.type !== "array";
    if (!scalar) throw new SchemaError(path, `the list map key ${key} must be a scalar property of the items`);
    if (!items?.required?.includes(key) && property.default === undefined) {
      throw new SchemaError(path, `the list map key ${key} must be required or have a default`);
    }
  }
}

// JavaScript's regular expressions, as the API server's Go (RE2) reads them.

/** Constructs that JavaScript has and RE2 lacks, or reads differently. Looked for outside of escapes. */
const unsupported: readonly (readonly [RegExp, string])[] = [
  [/\(\?<?[=!]/, "look-ahead and look-behind"],
  [/\\[1-9]|\\k</, "back references"],
  [/\\u|\\c/, String.raw`\u and \c escapes (write the character itself)`],
  [/\[\^?\]/, "empty character classes"],
];

/** RE2's own limit: https://github.com/google/re2/wiki/Syntax. */
const maxRepetition = 1000;

/** The pattern of a regular expression in Go's syntax; throws a `SchemaError` when Go could not compile it or would read it otherwise. */
function goPattern(regex: RegExp, path: string): string {
  if (regex.flags.replace("u", "") !== "") {
    throw new SchemaError(path, `the regular expression ${String(regex)} has flags, and a CRD pattern has none`);
  }
  const source = regex.source.replaceAll(/\\(.)/g, (escape, char) => (char === "/" ? "/" : escape));
  const bare = source.replaceAll("\\\\", "");
  for (const [construct, name] of unsupported) {
    if (construct.test(bare))
      throw new SchemaError(path, `the regular expression ${String(regex)} uses ${name}, which the API server's RE2 does not know`);
  }
  for (const [, least = "0", most] of bare.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) {
    if (Math.max(Number(least), Number(most ?? 0)) > maxRepetition) {
      throw new SchemaError(path, `the regular expression ${String(regex)} repeats more than ${maxRepetition} times, which RE2 refuses`);
    }
  }
  return source;
}
