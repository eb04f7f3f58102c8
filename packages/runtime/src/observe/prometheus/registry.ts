// All metrics of a process by name, and their text.
import type { MetricRow } from "../metric-table.ts";
import { Counter } from "./counter.ts";
import { Gauge } from "./gauge.ts";
import { Histogram } from "./histogram.ts";
import { headText, textContentType } from "./text-format.ts";

interface Registered {
  readonly row: MetricRow;
  readonly metric: Counter | Gauge | Histogram;
}

// https://prometheus.io/docs/concepts/data_model/#metric-names-and-labels
const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** Metrics that are scraped together. */
export class Registry {
  readonly contentType = textContentType;
  readonly #metrics = new Map<string, Registered>();

  /** The metric of this name, which is made if there is none. Throws if the name is taken by a metric of another type or with other labels. */
  metric(name: string, row: MetricRow): Counter | Gauge | Histogram {
    const registered = this.#metrics.get(name);
    if (registered) {
      if (shapeOf(registered.row) === shapeOf(row)) return registered.metric;
      throw new Error(`cannot make the metric ${name}, a ${shapeOf(row)}: there is one of this name, a ${shapeOf(registered.row)}`);
    }
    const metric = createMetric(name, row);
    this.#metrics.set(name, { row, metric });
    return metric;
  }

  /** All metrics in Prometheus' text format, in the order in which they were made. */
  text(): string {
    return `${[...this.#metrics.keys()].map((name) => this.textOf(name)).join("\n\n")}\n`;
  }

  /** One metric, without a line feed at the end; empty if there is none of this name. */
  textOf(name: string): string {
    const registered = this.#metrics.get(name);
    return registered ? [headText(name, registered.row), ...registered.metric.lines()].join("\n") : "";
  }
}

function createMetric(name: string, row: MetricRow): Counter | Gauge | Histogram {
  if (!metricName.test(name)) throw new Error(`cannot make a metric of the name ${JSON.stringify(name)}: use letters, digits, _ and :`);
  const odd = row.labels.find((label) => !labelName.test(label));
  if (odd !== undefined) throw new Error(`cannot make the metric ${name} with the label ${JSON.stringify(odd)}: use letters, digits and _`);
  if (row.type === "counter") return new Counter(name, row);
  return row.type === "gauge" ? new Gauge(name, row) : new Histogram(name, row);
}

function shapeOf({ type, labels, buckets = [] }: MetricRow): string {
  return `${type} with the labels (${labels.join(", ")})${type === "histogram" ? ` and the buckets ${buckets.join(", ")}` : ""}`;
}
