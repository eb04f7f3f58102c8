// values.schema.json of the chart: a value whose name is wrong, or whose form is, is an error at once and not a setting that does nothing.
import { chartFlags, schemaOf } from "./chart-flags.ts";
import { type ChartValue, readChartValues } from "./chart-values.ts";

type Schema = Readonly<Record<string, unknown>>;

/** The schema as JSON text, from the text of values.yaml. */
export function chartSchema(valuesText: string): string {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Values of the chart keyturn",
    ...objectSchema(readChartValues(valuesText)),
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function objectSchema(fields: readonly ChartValue[]): Schema {
  const named = fields.map((field) => [field.path.at(-1) ?? "", valueSchema(field)] as const);
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(named) };
}

function valueSchema(value: ChartValue): Schema {
  const { description, fields, path, schema } = value;
  const described = description === undefined ? {} : { description };
  if (fields.length > 0) return { ...described, ...objectSchema(fields) };
  const flag = chartFlags.find((candidate) => candidate.path.join(".") === path.join("."));
  return { ...described, ...(flag ? schemaOf(flag.flag) : { type: typeOf(value.default) }), ...schema };
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  return typeof value === "number" ? "integer" : typeof value;
}
