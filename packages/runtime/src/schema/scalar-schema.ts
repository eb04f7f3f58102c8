// Strings, numbers, enums and literals of zod as nodes of a structural schema.
import type { $ZodCheck, $ZodCheckDef, $ZodStringFormatDef, $ZodType } from "zod/v4/core";
import { celOneOf } from "./cel-expression.ts";
import { goPattern } from "./go-pattern.ts";
import { isScalar } from "./json-schema-props.ts";
import type { JsonSchemaProps } from "./json-schema-props.ts";
import { SchemaError } from "./schema-error.ts";

type Draft = { -readonly [Key in keyof JsonSchemaProps]: JsonSchemaProps[Key] };
type CheckDef = $ZodCheckDef & Readonly<Record<string, unknown>>;

/** zod's string formats that the API server checks by name. Others are given as their pattern. */
const formatNames: Readonly<Record<string, string>> = {
  date: "date",
  datetime: "date-time",
  email: "email",
  guid: "uuid",
  ipv4: "ipv4",
  ipv6: "ipv6",
  url: "uri",
  uuid: "uuid",
};

/** All checks of a schema in the order of their declaration; a format schema such as `z.email()` is its own first check. */
export function checksOf(schema: $ZodType): readonly CheckDef[] {
  const { def } = schema._zod;
  const own = "check" in def ? [schema as unknown as $ZodCheck] : [];
  // A check's definition is a plain record; which fields it has follows from `check`.
  return [...own, ...(def.checks ?? [])].map((check) => check._zod.def as CheckDef);
}

/** True if a `.refine()` or `.superRefine()` stands on this very node: code that only a CEL rule can repeat on the server. */
export function isRefined(schema: $ZodType): boolean {
  return checksOf(schema).some(({ check }) => check === "custom");
}

/** The node of a `z.string()` with its checks. */
export function stringSchema(schema: $ZodType, path: string): JsonSchemaProps {
  const node: Draft = { type: "string" };
  const patterns: string[] = [];
  for (const check of checksOf(schema)) {
    if (applyLength(node, check, ["minLength", "maxLength"])) continue;
    switch (check.check) {
      case "custom":
        break;
      case "string_format":
        applyFormat(node, patterns, { format: check as unknown as $ZodStringFormatDef & CheckDef, path });
        break;
      case "overwrite":
        throw new SchemaError(
          path,
          "a string that is changed while it is read (trim, toLowerCase …) has no form in a CRD; constrain it with a regex instead",
        );
      default:
        throw new SchemaError(path, `the check ${check.check} has no form in a CRD`);
    }
  }
  const [first, ...more] = new Set(patterns);
  if (first !== undefined) node.pattern = first;
  if (more.length > 0) node.allOf = more.map((pattern) => ({ pattern }));
  return node;
}

function applyFormat(node: Draft, patterns: string[], { format, path }: { format: $ZodStringFormatDef & CheckDef; path: string }): void {
  const name = formatNames[format.format];
  if (name === undefined) {
    if (!format.pattern) throw new SchemaError(path, `the string format ${format.format} has no form in a CRD; use a regex`);
    patterns.push(goPattern(format.pattern, path));
    return;
  }
  node.format = name;
  if (format.format !== "datetime") return;
  if (format.local === true || typeof format.precision === "number") {
    throw new SchemaError(path, "local date-times and a fixed precision have no form in a CRD; use z.iso.datetime({ offset: true })");
  }
  if (format.offset !== true) patterns.push("Z$");
}

/** The node of a `z.number()`, `z.int()`, `z.int32()` … with its checks. */
export function numberSchema(schema: $ZodType, path: string): JsonSchemaProps {
  const node: Draft = { type: "number" };
  for (const check of checksOf(schema)) {
    switch (check.check) {
      case "custom":
        break;
      case "greater_than":
        if (node.minimum === undefined || Number(check.value) >= node.minimum) {
          node.minimum = Number(check.value);
          if (check.inclusive === true) delete node.exclusiveMinimum;
          else node.exclusiveMinimum = true;
        }
        break;
      case "less_than":
        if (node.maximum === undefined || Number(check.value) <= node.maximum) {
          node.maximum = Number(check.value);
          if (check.inclusive === true) delete node.exclusiveMaximum;
          else node.exclusiveMaximum = true;
        }
        break;
      case "multiple_of":
        if (node.multipleOf !== undefined) throw new SchemaError(path, "a CRD takes one multipleOf, not several");
        node.multipleOf = Number(check.value);
        break;
      case "number_format":
        Object.assign(node, numberFormat(String(check.format), path));
        break;
      default:
        throw new SchemaError(path, `the check ${check.check} has no form in a CRD`);
    }
  }
  return node;
}

function numberFormat(format: string, path: string): JsonSchemaProps {
  switch (format) {
    case "safeint":
      return { type: "integer", format: "int64" };
    case "int32":
      // With its bounds, because older API servers (seen on 1.33) do not check the format.
      return { type: "integer", format: "int32", minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };
    case "uint32":
      return { type: "integer", format: "int64", minimum: 0, maximum: 2 ** 32 - 1 };
    case "float32":
      return { type: "number", format: "float" };
    case "float64":
      return { type: "number", format: "double" };
    default:
      throw new SchemaError(path, `the number format ${format} has no form in a CRD`);
  }
}

/** Sets the bounds that a length check gives; false if the check is about something else. */
export function applyLength(node: Draft, check: CheckDef, [least, most]: readonly ["minLength" | "minItems", "maxLength" | "maxItems"]): boolean {
  const atLeast = check.check === "min_length" ? check.minimum : check.check === "length_equals" ? check.length : undefined;
  const atMost = check.check === "max_length" ? check.maximum : check.check === "length_equals" ? check.length : undefined;
  if (atLeast !== undefined) node[least] = Math.max(Number(atLeast), node[least] ?? 0);
  if (atMost !== undefined) node[most] = Math.min(Number(atMost), node[most] ?? Infinity);
  return atLeast !== undefined || atMost !== undefined;
}

/** The node of an enum or of one or more literals; all values must be of one type, and null makes the node nullable. */
export function valuesSchema(values: readonly unknown[], path: string): JsonSchemaProps {
  const named = values.filter((value) => value !== null);
  const types = new Set(named.map((value) => (Number.isInteger(value) ? "integer" : typeof value)));
  const type = types.size === 2 && types.has("integer") && types.has("number") ? "number" : [...types][0];
  const mixed = types.size > 1 && type !== "number";
  if (mixed || (type !== "string" && type !== "integer" && type !== "number" && type !== "boolean")) {
    throw new SchemaError(path, `the values ${values.map(String).join(", ")} are not all strings, all numbers or all booleans`);
  }
  const node: JsonSchemaProps = { type, enum: named.filter(isScalar) };
  return named.length < values.length ? nullable(node) : node;
}

/**
 * The node with null allowed. The API server holds null against `enum`, even against an enum that lists null, so allowed values become a
 * CEL rule, which it does not apply to null.
 */
export function nullable({ enum: values, ...node }: JsonSchemaProps): JsonSchemaProps {
  if (!values) return { ...node, nullable: true };
  const scalars = values.filter(isScalar);
  const message = `must be one of ${scalars.map((value) => JSON.stringify(value)).join(", ")} or null`;
  const lengths = scalars.map((value) => String(value).length);
  return {
    ...node,
    nullable: true,
    ...(node.type === "string" && { maxLength: Math.max(...lengths) }),
    "x-kubernetes-validations": [{ rule: celOneOf("self", scalars), message }, ...(node["x-kubernetes-validations"] ?? [])],
  };
}
