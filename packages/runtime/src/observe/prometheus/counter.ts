// A number that only grows.
import type { MetricRow } from "../metric-table.ts";
import { type LabelValues, noLabels, SeriesIndex } from "./series-index.ts";
import { valueLines } from "./value-lines.ts";

/** A counter. Its labels are checked by the compiler where a table says which it has: see `MetricsOf`. */
export class Counter {
  readonly #name: string;
  readonly #series: SeriesIndex<{ value: number }>;

  constructor(name: string, { labels }: MetricRow) {
    this.#name = name;
    this.#series = new SeriesIndex(name, labels, () => ({ value: 0 }));
  }

  /** Adds `value`, by default 1, to the series of these labels. Throws a `RangeError` if it is negative or not a finite number. */
  inc(labels: LabelValues | number = noLabels, value = 1): void {
    if (typeof labels === "number") return this.inc(noLabels, labels);
    if (!(value >= 0 && value < Infinity))
      throw new RangeError(`cannot add ${value} to the counter ${this.#name}: it takes finite numbers from 0 up`);
    this.#series.at(labels).value += value;
  }

  /** In Prometheus' text format, without the head. */
  lines(): readonly string[] {
    return valueLines(this.#name, this.#series);
  }
}
