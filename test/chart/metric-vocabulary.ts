// Which metrics and labels there are, to find made-up ones in expressions of PromQL.
import { metricDocs, type MetricRow } from "@keyturn/runtime";
import { agentMetrics } from "../../packages/keyturn/src/agent/run-agent.ts";
import { features } from "../../packages/keyturn/src/registry.ts";

type NamedRow = Pick<MetricRow, "type" | "labels"> & { readonly name: string };

const rows: readonly NamedRow[] = [
  ...metricDocs(),
  ...[agentMetrics, ...features.map(({ metrics }) => metrics)].flatMap((table) =>
    Object.entries<MetricRow>(table).map(([name, { type, labels }]) => ({ name, type, labels })),
  ),
];

/** Labels by every metric that the program has; a histogram is three of them. */
const known: ReadonlyMap<string, readonly string[]> = new Map(
  rows.flatMap(({ name, type, labels }) => namesOf(name, type).map((each) => [each, labels])),
);

function namesOf(name: string, type: MetricRow["type"]): readonly string[] {
  return type === "histogram" ? ["bucket", "sum", "count"].map((part) => `${name}_${part}`) : [name];
}

/** What Prometheus adds: where it scraped, and the bounds of buckets. */
const addedLabels = ["instance", "namespace", "pod", "le"];

/** The words in an expression that have the form of our metrics' names. */
export function metricsIn(expression: string): readonly string[] {
  return expression.match(/\b(?:keyturn|runtime|controller_runtime|workqueue|rest_client|leader_election|process|nodejs)_[a-z0-9_]+/g) ?? [];
}

/** Those among them that do not exist. */
export function unknownMetrics(expressions: readonly string[]): readonly string[] {
  return expressions.flatMap(metricsIn).filter((metric) => !known.has(metric));
}

/** The labels that an expression, or a text about it, names and that none of its metrics has. */
export function foreignLabels(expression: string, texts: readonly string[] = []): readonly string[] {
  const there = new Set([...addedLabels, ...metricsIn(expression).flatMap((metric) => known.get(metric) ?? [])]);
  const named = texts.flatMap((text) =>
    [...text.matchAll(/\$labels\.(\w+)|\{\{(\w+)\}\}/g)].map(([, inAlert, inLegend]) => inAlert ?? inLegend ?? ""),
  );
  return [...labelsIn(expression), ...named].filter((label) => !there.has(label));
}

/** The labels that an expression chooses, groups or matches by. */
function labelsIn(expression: string): readonly string[] {
  const chosen = [...expression.matchAll(/([a-z_]+)(?:=~|!~|!=|=)"/g)].map(([, label = ""]) => label);
  const grouped = [...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(",").map((label) => label.trim()));
  return [...chosen, ...grouped];
}
