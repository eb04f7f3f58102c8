// Prometheus itself reads the text of every metric there is, with labels and numbers that are hard to read.
import { Counter, Gauge, Histogram, type Metric } from "prom-client";
import { expect, test } from "vitest";
import { createMetrics, metricDocs, type MetricRow, metricsOf } from "@keyturn/runtime";
import { agentMetrics } from "../../packages/keyturn/src/agent/run-agent.ts";
import { features } from "../../packages/keyturn/src/registry.ts";
import { dashboardMetrics } from "../../packages/keyturn/src/dashboard/dashboard.ts";
import { notifyMetrics } from "../../packages/keyturn/src/notify/notifier.ts";
import { promtool } from "../support/promtool.ts";

const tables: readonly Readonly<Record<string, MetricRow>>[] = [
  Object.fromEntries(metricDocs().map((row) => [row.name, row])),
  agentMetrics,
  notifyMetrics,
  dashboardMetrics,
  ...features.map(({ metrics }) => metrics),
];
const oddLabels = ["", "plain", 'a "quote"', "back\\slash", "two\nlines", "\\n", "é 😀", '",}{="', "#"];
const oddNumbers = [0, -1, 0.1, 1e-9, 1e21, Number.MAX_VALUE, Number.MIN_VALUE, Number.NaN, Infinity, -Infinity];

/** Uses a metric in all ways that it can be used. */
function fill(metric: Metric | undefined, { labels }: MetricRow): void {
  for (const odd of labels.length === 0 ? [""] : oddLabels) {
    const values = Object.fromEntries(labels.map((label) => [label, odd]));
    for (const number of oddNumbers) {
      if (metric instanceof Gauge) metric.set(values, number);
      else if (metric instanceof Counter) metric.inc(values, Number.isFinite(number) ? Math.abs(number) : 1);
      else if (metric instanceof Histogram) metric.observe(values, Number.isFinite(number) ? number : 1);
    }
  }
}

test("promtool finds nothing wrong with the text of any metric", async () => {
  const metrics = createMetrics();
  for (const table of tables) {
    metricsOf(metrics, table);
    for (const [name, row] of Object.entries(table)) fill(metrics.registry.getSingleMetric(name), row);
  }
  const text = await metrics.text();
  expect(text.split("\n").length).toBeGreaterThan(1000);
  // What it says, it says about something that is wrong.
  expect(await promtool(["check", "metrics"], {}, text)).toBe("");
});

test("promtool would find it", async () => {
  await expect(promtool(["check", "metrics"], {}, '# HELP a A.\n# TYPE a gauge\na{b="\\x"} 1\n')).rejects.toThrow("promtool check metrics");
});
