// Small pieces of CEL source: names and literals, escaped as the API server reads them.
import type { Scalar } from "./json-schema-props.ts";

/** Words that CEL reserves: https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax; fields of these names are escaped. */
const reserved = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(" "),
);

/** How a property is written after `self.`: the API server's escapes for characters and words that CEL cannot take. */
export function celField(name: string): string {
  if (reserved.has(name)) return `__${name}__`;
  return name.replaceAll("__", "__underscores__").replaceAll(".", "__dot__").replaceAll("-", "__dash__").replaceAll("/", "__slash__");
}

/** A CEL string, number or boolean literal. */
export function celLiteral(value: Scalar): string {
  return typeof value === "string" ? `'${value.replaceAll("\\", "\\\\").replaceAll("'", String.raw`\'`)}'` : String(value);
}

/** True in CEL when `expression` is one of `values`. */
export function celOneOf(expression: string, values: readonly Scalar[]): string {
  const [first, ...rest] = values.map(celLiteral);
  return rest.length === 0 ? `${expression} == ${first}` : `${expression} in [${[first, ...rest].join(", ")}]`;
}
