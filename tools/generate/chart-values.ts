// The values of the chart: which flags are values and where they stand, the text of values.yaml, what its comments say, and its schema.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isMap, isScalar, parse, parseDocument, stringify, type YAMLMap } from "yaml";
import { agentFlags, policyFlags } from "../../packages/keyturn/src/agent/flags.ts";
import type { Feature } from "../../packages/keyturn/src/feature/feature.ts";
import type { Flag } from "../../packages/keyturn/src/feature/flag.ts";
import { operatorFlags } from "../../packages/keyturn/src/operator-flags.ts";

/** A flag, and its place among the values. */
export interface ChartFlag {
  readonly flag: Flag;
  /** Where it stands, such as `["controllers", "jwks", "reconcileInterval"]`. */
  readonly path: readonly string[];
  /** Whose flag it is: a feature's or the `operator`'s, an argument of `keyturn run`, given if that feature is on; or the `agent`'s, of `keyturn agent`. */
  readonly of: string;
}

/** What the chart decides itself: which controllers run, who talks to which cluster, and how metrics are served. Ports are values of their own. */
const operatorsOwn: ReadonlySet<Flag> = new Set<Flag>([
  operatorFlags.controllers,
  operatorFlags.kubeconfig,
  operatorFlags.context,
  operatorFlags.metricsSecure,
  operatorFlags.metricsCertPath,
  operatorFlags.metricsCertName,
  operatorFlags.metricsCertKey,
]);

/** What an agent gets from the operator's values: it has to count what the control plane counts (`controllers.checksum`), and logs like it. */
export const sharedWithAgent: ReadonlySet<Flag> = new Set<Flag>([
  agentFlags.versionAnnotations,
  agentFlags.secretSelector,
  agentFlags.secretTypes,
  agentFlags.maxVanishing,
  agentFlags.maxChanging,
  agentFlags.announcementKeys,
  agentFlags.scope,
  agentFlags.namespaces,
  agentFlags.namespaceSelector,
  agentFlags.logLevel,
  agentFlags.logFormat,
]);

/** What is no value of the agent's: that, and where it works. */
const agentsOwn: ReadonlySet<Flag> = new Set<Flag>([...operatorsOwn, ...sharedWithAgent, agentFlags.namespace, agentFlags.dir]);

const valuesAmong = (flags: readonly Flag[], own: ReadonlySet<Flag>): readonly Flag[] =>
  flags.filter((flag) => !own.has(flag) && flag.takes.type !== "address");

/** Every flag that is a value, in the order of the command line. */
export function chartFlags(registry: readonly Feature[]): readonly ChartFlag[] {
  return [
    ...valuesAmong(Object.values<Flag>(operatorFlags), operatorsOwn).map((flag): ChartFlag => ({ flag, path: pathOf(flag), of: "operator" })),
    ...registry.flatMap(({ name, flags }) =>
      valuesAmong(flags, operatorsOwn).map((flag): ChartFlag => ({ flag, path: ["controllers", ...pathOf(flag)], of: name })),
    ),
    ...valuesAmong([...Object.values<Flag>(agentFlags), ...Object.values<Flag>(policyFlags)], agentsOwn).map((flag): ChartFlag => ({
      flag,
      path: ["agent", ...pathOf(flag)],
      of: "agent",
    })),
  ];
}

function pathOf(flag: Flag): readonly string[] {
  return flag.name.split(".").map(camelCase);
}

/** `reconcile-interval` as a value's name: `reconcileInterval`. */
export function camelCase(name: string): string {
  return name.replaceAll(/-([a-z0-9])/g, (_dash, letter: string) => letter.toUpperCase());
}

/** What stands in values.yaml for a flag that nobody has set. */
export function valueOf({ default: text, takes }: Flag): unknown {
  switch (takes.type) {
    case "switch":
      return text === "true";
    case "number":
      return Number(text);
    case "list":
      return text === undefined ? [] : text.split(",");
    case "text":
    case "choice":
    case "duration":
    case "address":
      break;
  }
  return text ?? "";
}

/** values.yaml: written by hand, but for the parts that come from the program's flags, which are written anew. */
export function chartValuesText(registry: readonly Feature[]): string {
  const flags = chartFlags(registry);
  const present = readFileSync(fileURLToPath(new URL("../../charts/keyturn/values.yaml", import.meta.url)), "utf8");
  const blocks: Readonly<Record<string, string>> = {
    controllers: `controllers:\n${registry.map((feature) => controllerBlock(feature, flags)).join("")}`,
    operator: flagsBlock(flagsOf("operator", flags), 0),
    agent: flagsBlock(flagsOf("agent", flags), 1),
  };
  return Object.entries(blocks).reduce((text, [name, block]) => {
    const pattern = new RegExp(`(?<=^ *# <flags ${name}>\n)[^]*?(?=^ *# </flags ${name}>$)`, "m");
    if (!pattern.test(text))
      throw new Error(`values.yaml has no place for the flags of ${name}: put "# <flags ${name}>" and "# </flags ${name}>" there`);
    return text.replace(pattern, () => block);
  }, present);
}

function flagsOf(owner: ChartFlag["of"], flags: readonly ChartFlag[]): readonly ChartFlag[] {
  return flags.filter(({ of }) => of === owner);
}

function controllerBlock({ name, stage, onByDefault }: Feature, flags: readonly ChartFlag[]): string {
  const own = [`  ${camelCase(name)}:`, `    # -- Runs \`${name}\`: ${stage.summary}.`, `    enabled: ${String(onByDefault)}`, ""];
  return own.join("\n") + flagsBlock(flagsOf(name, flags), 2);
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

type Schema = Readonly<Record<string, unknown>>;

/** The schema as JSON text, from the text of values.yaml: a value whose name is wrong, or whose form is, is an error at once and not a setting that does nothing. */
export function chartSchema(valuesText: string, registry: readonly Feature[]): string {
  const flags = chartFlags(registry);
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Values of the chart keyturn",
    ...objectSchema(readChartValues(valuesText), flags),
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function objectSchema(fields: readonly ChartValue[], flags: readonly ChartFlag[]): Schema {
  const named = fields.map((field) => [field.path.at(-1) ?? "", valueSchema(field, flags)] as const);
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(named) };
}

function valueSchema(value: ChartValue, flags: readonly ChartFlag[]): Schema {
  const { description, fields, path, schema } = value;
  const described = description === undefined ? {} : { description };
  if (fields.length > 0) return { ...described, ...objectSchema(fields, flags) };
  const flag = flags.find((candidate) => candidate.path.join(".") === path.join("."));
  return { ...described, ...(flag ? schemaOf(flag.flag) : { type: typeOf(value.default) }), ...schema };
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  return typeof value === "number" ? "integer" : typeof value;
}

/** Go's notation of a length of time, as `parseDuration` reads it. */
const durationPattern = String.raw`^(0|((\d+(\.\d+)?|\.\d+)(ns|us|µs|ms|s|m|h))+)$`;

/** What may be written for a flag, as a JSON schema. */
function schemaOf({ takes }: Flag): Schema {
  switch (takes.type) {
    case "switch":
      return { type: "boolean" };
    case "number":
      return { type: "integer", minimum: takes.least, maximum: takes.most };
    case "list":
      return { type: "array", items: { type: "string", pattern: "^[^,]*$" } };
    case "choice":
      return { type: "string", enum: takes.choices };
    case "duration":
      // A bare 0 is a number in YAML, and means what it says.
      return { type: ["string", "integer"], pattern: durationPattern, minimum: 0, maximum: 0 };
    case "text":
    case "address":
      break;
  }
  return { type: "string" };
}
