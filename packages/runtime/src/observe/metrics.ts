// The runtime's metrics, under controller-runtime's names where it has one, so that existing dashboards work.
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { metricTable } from "./metric-table.ts";
import type { MetricName, MetricRow } from "./metric-table.ts";

/** A registry of this manager's own; never prom-client's global one. */
export interface Metrics {
  readonly registry: Registry;
}

/** What prom-client makes of one row of the table; label names are checked by the compiler. */
type MetricOf<Row extends MetricRow> = Row["type"] extends "counter"
  ? Counter<Row["labels"][number]>
  : Row["type"] extends "gauge"
    ? Gauge<Row["labels"][number]>
    : Histogram<Row["labels"][number]>;

/** Every metric of the table, ready to be counted with, and a way to be asked before each scrape. */
export interface RuntimeMetrics extends Metrics {
  readonly of: { readonly [Name in MetricName]: MetricOf<(typeof metricTable)[Name]> };
  /** Calls `collect` before each scrape, to set gauges that are cheaper to read then than to keep up to date. */
  beforeScrape(collect: () => void): void;
  /** The registry in Prometheus' text format. */
  text(): Promise<string>;
}

/** Makes a registry with all metrics of the table. Nothing runs between scrapes. */
export function createMetrics(): RuntimeMetrics {
  const registry = new Registry();
  const metrics = Object.entries<MetricRow>(metricTable).map(([name, row]) => [name, createMetric(name, row, registry)] as const);
  const collectors: (() => void)[] = [];
  return {
    registry,
    // The table decides which class each name gets, and `createMetric` follows it.
    of: Object.fromEntries(metrics) as RuntimeMetrics["of"],
    beforeScrape: (collect) => void collectors.push(collect),
    text() {
      for (const collect of collectors) collect();
      return registry.metrics();
    },
  };
}

function createMetric(name: string, { type, help, labels, buckets = [] }: MetricRow, registry: Registry): Counter | Gauge | Histogram {
  const common = { name, help, labelNames: labels, registers: [registry] };
  if (type === "counter") return new Counter(common);
  return type === "gauge" ? new Gauge(common) : new Histogram({ ...common, buckets: [...buckets] });
}
