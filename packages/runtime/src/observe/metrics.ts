// The runtime's metrics, under controller-runtime's names where it has one, so that existing dashboards work.
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { metricTable } from "./metric-table.ts";
import type { MetricRow } from "./metric-table.ts";

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

/** The metrics of a table, by name. */
export type MetricsOf<Table extends Readonly<Record<string, MetricRow>>> = { readonly [Name in keyof Table]: MetricOf<Table[Name]> };

/** Every metric of the table, ready to be counted with, and a way to be asked before each scrape. */
export interface RuntimeMetrics extends Metrics {
  readonly of: MetricsOf<typeof metricTable>;
  /** Calls `collect` before each scrape, to set gauges that are cheaper to read then than to keep up to date. */
  beforeScrape(collect: () => void): void;
  /** The registry in Prometheus' text format. */
  text(): Promise<string>;
}

/** Makes a registry with all metrics of the table. Nothing runs between scrapes. */
export function createMetrics(): RuntimeMetrics {
  const registry = new Registry();
  const collectors: (() => void)[] = [];
  return {
    registry,
    of: metricsOf({ registry }, metricTable),
    beforeScrape: (collect) => void collectors.push(collect),
    text() {
      for (const collect of collectors) collect();
      return registry.metrics();
    },
  };
}

/** The metrics of a controller's own table, typed by it. Controllers that share a table share the metrics. */
export function metricsOf<const Table extends Readonly<Record<string, MetricRow>>>({ registry }: Metrics, table: Table): MetricsOf<Table> {
  const metrics = Object.entries<MetricRow>(table).map(([name, row]) => [name, registry.getSingleMetric(name) ?? createMetric(name, row, registry)]);
  // The table decides which class each name gets, and `createMetric` follows it.
  return Object.fromEntries(metrics) as MetricsOf<Table>;
}

function createMetric(name: string, { type, help, labels, buckets = [] }: MetricRow, registry: Registry): Counter | Gauge | Histogram {
  const common = { name, help, labelNames: labels, registers: [registry] };
  if (type === "counter") return new Counter(common);
  return type === "gauge" ? new Gauge(common) : new Histogram({ ...common, buckets: [...buckets] });
}
