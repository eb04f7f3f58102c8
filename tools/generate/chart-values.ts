// The values of the chart, as the comments in values.yaml describe them.
import { isMap, isScalar, parse, parseDocument, type YAMLMap } from "yaml";

/** A value as its comments describe it. */
export interface ChartValue {
  readonly path: readonly string[];
  /** What it is for; absent for values that only hold others. */
  readonly description: string | undefined;
  readonly default: unknown;
  /** What `@schema` says, to be laid over what the default tells. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The values within, for those that only hold others. */
  readonly fields: readonly ChartValue[];
}

/** Every value of a values.yaml with what its comments say. Throws for a value that none explains. */
export function readChartValues(text: string): readonly ChartValue[] {
  const { contents } = parseDocument(text);
  if (!isMap(contents)) throw new Error("reading values.yaml: it is no map");
  return fieldsOf(contents, []);
}

function fieldsOf(map: YAMLMap, path: readonly string[]): readonly ChartValue[] {
  return map.items.map(({ key, value }, index) => {
    const here = [...path, String(key)];
    const { description, schema } = readComment(commentBefore(map, index));
    const holdsOthers =
      isMap(value) && (description === undefined || value.items.some((_, each) => readComment(commentBefore(value, each)).description));
    const fields = holdsOthers ? fieldsOf(value, here) : [];
    if (description === undefined && fields.length === 0) throw new Error(`values.yaml: say in a comment "# -- …" what ${here.join(".")} is for`);
    return { path: here, description, default: plainOf(value), schema, fields };
  });
}

/** The comment above a field. The one above the first field of a map is the map's own in the parser's eyes. */
function commentBefore(map: YAMLMap, index: number): string {
  const key = map.items[index]?.key;
  return (isScalar(key) ? key.commentBefore : undefined) ?? (index === 0 ? map.commentBefore : undefined) ?? "";
}

/** A node as plain data. */
function plainOf(node: unknown): unknown {
  return JSON.parse(JSON.stringify(node)) as unknown;
}

/** What `# --` and `# @schema` say in the lines right above a value. */
function readComment(comment: string): { readonly description: string | undefined; readonly schema: Readonly<Record<string, unknown>> } {
  const lines = (comment.split(/\n\s*\n/).at(-1) ?? "").split("\n").map((line) => line.trim());
  const after = (mark: string): readonly string[] => lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length));
  const description = after("-- ").join(" ");
  const schema = after("@schema ").map((text) => parse(text) as Readonly<Record<string, unknown>>);
  return { description: description === "" ? undefined : description, schema: Object.assign({}, ...schema) as Readonly<Record<string, unknown>> };
}
