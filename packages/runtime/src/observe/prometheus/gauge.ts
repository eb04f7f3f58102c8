// A number that can become any other, and can go away.
import type { MetricRow } from "../metric-table.ts";
import { type LabelValues, noLabels, SeriesIndex } from "./series-index.ts";
import { valueLines } from "./value-lines.ts";

/** A gauge. Its labels are checked by the compiler where a table says which it has: see `MetricsOf`. */
export class Gauge {
  readonly #name: string;
  readonly #series: SeriesIndex<{ value: number }>;

  constructor(name: string, { labels }: MetricRow) {
    this.#name = name;
    this.#series = new SeriesIndex(name, labels, () => ({ value: 0 }));
  }

  /** Sets the series of these labels; NaN and the infinities are values too. */
  set(labels: LabelValues | number, value?: number): void {
    if (typeof labels === "number") return this.set(noLabels, labels);
    if (value === undefined) throw new TypeError(`cannot set the gauge ${this.#name}: there is no number to set it to`);
    this.#series.at(labels).value = value;
  }

  /** Adds `value`, by default 1, to the series of these labels. */
  inc(labels: LabelValues | number = noLabels, value = 1): void {
    if (typeof labels === "number") return this.inc(noLabels, labels);
    this.#series.at(labels).value += value;
  }

  /** Forgets the series of these labels; it is not shown until it is set again. */
  remove(labels: LabelValues = noLabels): void {
    this.#series.remove(labels);
  }

  /** Forgets every series; a gauge without labels is 0 again. */
  reset(): void {
    this.#series.clear();
  }

  /** In Prometheus' text format, without the head. */
  lines(): readonly string[] {
    return valueLines(this.#name, this.#series);
  }
}
