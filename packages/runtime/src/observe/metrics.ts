// The runtime's metrics, under controller-runtime's names where it has one, so that existing dashboards work.
import { metricTable } from "./metric-table.ts";
import type { MetricRow } from "./metric-table.ts";
import { Registry } from "./prometheus/registry.ts";

/** A registry of this manager's own; there is no global one. */
export interface Metrics {
  readonly registry: Registry;
}

/** A metric without labels is called without them; one with labels is given all of them. */
type Arguments<Label extends string, Rest extends readonly unknown[]> = [Label] extends [never]
  ? Rest
  : [labels: Readonly<Record<Label, string>>, ...rest: Rest];

/** Counts up. */
interface CounterOf<Label extends string> {
  /** By default by 1. */
  inc(...by: Arguments<Label, [value?: number]>): void;
}

/** Shows what is. */
interface GaugeOf<Label extends string> {
  set(...to: Arguments<Label, [value: number]>): void;
  /** By default by 1. */
  inc(...by: Arguments<Label, [value?: number]>): void;
  /** Forgets one series; it is not shown until it is set again. */
  remove(...of: Arguments<Label, []>): void;
  /** Forgets every series; a gauge without labels is 0 again. */
  reset(): void;
}

/** Counts values by size. */
interface HistogramOf<Label extends string> {
  observe(...what: Arguments<Label, [value: number]>): void;
}

/** What becomes of one row of the table; labels are checked by the compiler. */
type MetricOf<Row extends MetricRow> = Row["type"] extends "counter"
  ? CounterOf<Row["labels"][number]>
  : Row["type"] extends "gauge"
    ? GaugeOf<Row["labels"][number]>
    : HistogramOf<Row["labels"][number]>;

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
    async text() {
      for (const collect of collectors) collect();
      return registry.text();
    },
  };
}

/** The metrics of a controller's own table, typed by it. Controllers that share a table share the metrics. */
export function metricsOf<const Table extends Readonly<Record<string, MetricRow>>>({ registry }: Metrics, table: Table): MetricsOf<Table> {
  const metrics = Object.entries<MetricRow>(table).map(([name, row]) => [name, registry.metric(name, row)]);
  // The table decides which class each name gets, and the registry follows it.
  return Object.fromEntries(metrics) as MetricsOf<Table>;
}
