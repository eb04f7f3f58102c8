// values.yaml of the chart: the parts of it that come from the program's flags, and what its comments say about every value.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isMap, isScalar, parse, parseDocument, stringify, type YAMLMap } from "yaml";
import { features } from "../../packages/keyturn/src/controllers/registry.ts";
import type { FeatureName } from "../../packages/keyturn/src/controllers/feature.ts";
import { camelCase, type ChartFlag, chartFlags, valueOf } from "./chart-flags.ts";

/** What works in any cluster is on. What needs something that not everybody has (Kyma and an identity provider, Istio) is asked for. */
const onByDefault: ReadonlySet<FeatureName> = new Set<FeatureName>(["rotation", "jwks", "checksum"]);

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

/** values.yaml as it is, with the parts that come from flags written anew. */
export function chartValuesText(present: string = readPresent()): string {
  const blocks: Readonly<Record<string, string>> = {
    controllers: controllersBlock(),
    operator: flagsBlock(
      chartFlags.filter(({ of }) => of === "operator"),
      0,
    ),
    agent: flagsBlock(
      chartFlags.filter(({ of }) => of === "agent"),
      1,
    ),
  };
  return Object.entries(blocks).reduce((text, [name, block]) => {
    const pattern = new RegExp(`(?<=^ *# <flags ${name}>\n)[^]*?(?=^ *# </flags ${name}>$)`, "m");
    if (!pattern.test(text))
      throw new Error(`values.yaml has no place for the flags of ${name}: put "# <flags ${name}>" and "# </flags ${name}>" there`);
    return text.replace(pattern, () => block);
  }, present);
}

function readPresent(): string {
  return readFileSync(fileURLToPath(new URL("../../charts/keyturn/values.yaml", import.meta.url)), "utf8");
}

function controllersBlock(): string {
  const lines = features.flatMap(({ name, summary }) => [
    `  ${camelCase(name)}:`,
    `    # -- Runs \`${name}\`: ${summary}.`,
    `    enabled: ${String(onByDefault.has(name))}`,
    flagsBlock(
      chartFlags.filter(({ of }) => of === name),
      2,
    ).trimEnd(),
  ]);
  return `controllers:\n${lines.filter((line) => line !== "").join("\n")}\n`;
}

/** Flags as values from a depth of their paths on; those with a further step in their path stand under it. */
function flagsBlock(flags: readonly ChartFlag[], depth: number): string {
  const indent = "  ".repeat(depth);
  const groups = Map.groupBy(flags, ({ path }) => (path.length > depth + 1 ? path[depth] : undefined));
  return [...groups]
    .map(([group, members]) =>
      group === undefined ? members.map((flag) => flagLines(flag, indent)).join("") : `${indent}${group}:\n${flagsBlock(members, depth + 1)}`,
    )
    .join("");
}

function flagLines({ flag, path }: ChartFlag, indent: string): string {
  const help = `${flag.help.charAt(0).toUpperCase()}${flag.help.slice(1)}`;
  const value = stringify(valueOf(flag), { collectionStyle: "flow", flowCollectionPadding: false, lineWidth: 0, compat: "yaml-1.1" });
  return `${indent}# -- ${help}. (\`--${flag.name}\`)\n${indent}${path.at(-1)}: ${value}`;
}

/** Every value of a values.yaml with what its comments say. Throws for a value that none explains. */
export function readChartValues(text: string): readonly ChartValue[] {
  const { contents } = parseDocument(text);
  if (!isMap(contents)) throw new Error("reading values.yaml: it is no map");
  return fieldsOf(contents, []);
}

function fieldsOf(map: YAMLMap, path: readonly string[]): readonly ChartValue[] {
  return map.items.map(({ key, value }, index) => {
    if (!isScalar(key)) throw new Error(`reading values.yaml: a key of ${path.join(".")} is no word`);
    const here = [...path, String(key.value)];
    // The comment before the first field of a map belongs to the map in the parser's eyes.
    const { description, schema } = commentOf(key.commentBefore ?? (index === 0 ? map.commentBefore : undefined) ?? "");
    const plain: unknown = isMap(value) ? value.toJSON() : isScalar(value) ? value.value : JSON.parse(JSON.stringify(value));
    const fields = isMap(value) && description === undefined ? fieldsOf(value, here) : isMap(value) ? describedFields(value, here) : [];
    if (description === undefined && fields.length === 0) throw new Error(`values.yaml: say in a comment "# -- …" what ${here.join(".")} is for`);
    return { path: here, description, default: plain, schema, fields };
  });
}

/** The fields of a value that is described as a whole: they are values too if they are described, and only its default if not. */
function describedFields(map: YAMLMap, path: readonly string[]): readonly ChartValue[] {
  const isDescribed = map.items.some(({ key }, index) =>
    /^ -- /m.test((isScalar(key) ? key.commentBefore : undefined) ?? (index === 0 ? (map.commentBefore ?? "") : "")),
  );
  return isDescribed ? fieldsOf(map, path) : [];
}

/** What `# --` and `# @schema` say in the lines right above a value. */
function commentOf(comment: string): { readonly description: string | undefined; readonly schema: Readonly<Record<string, unknown>> } {
  const lines = (comment.split(/\n\s*\n/).at(-1) ?? "").split("\n").map((line) => line.trim());
  const description = lines
    .filter((line) => line.startsWith("-- "))
    .map((line) => line.slice(3))
    .join(" ");
  const schema = lines
    .filter((line) => line.startsWith("@schema "))
    .map((line) => parse(line.slice("@schema ".length)) as Readonly<Record<string, unknown>>);
  return { description: description === "" ? undefined : description, schema: Object.assign({}, ...schema) as Readonly<Record<string, unknown>> };
}
