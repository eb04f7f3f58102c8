// How often values were up to this and that bound.
import type { MetricRow } from "../metric-table.ts";
import { type LabelValues, noLabels, SeriesIndex } from "./series-index.ts";
import { sampleText } from "./text-format.ts";

interface HistogramSeries {
  /** Per bound, how many values it is the lowest bound of; made cumulative only when they are asked for. */
  readonly counts: number[];
  count: number;
  sum: number;
}

/** A histogram. Its labels are checked by the compiler where a table says which it has: see `MetricsOf`. */
export class Histogram {
  readonly #name: string;
  readonly #bounds: readonly number[];
  readonly #series: SeriesIndex<HistogramSeries>;

  constructor(name: string, { labels, buckets = [] }: MetricRow) {
    if (labels.includes("le")) throw new Error(`cannot make the histogram ${name} with a label le: it is that of the buckets`);
    if (buckets.some((bound, index) => !(bound > (buckets[index - 1] ?? -Infinity) && bound < Infinity)))
      throw new RangeError(`cannot make the histogram ${name}: its buckets must be finite and go up, and are ${buckets.join(", ")}`);
    this.#name = name;
    this.#bounds = buckets;
    this.#series = new SeriesIndex(name, labels, () => ({ counts: buckets.map(() => 0), count: 0, sum: 0 }));
  }

  /** Counts `value` in the series of these labels. Throws a `RangeError` if it is not a finite number, which would spoil the sum for good. */
  observe(labels: LabelValues | number, value = Number.NaN): void {
    if (typeof labels === "number") return this.observe(noLabels, labels);
    if (!Number.isFinite(value)) throw new RangeError(`cannot observe ${value} with the histogram ${this.#name}: it takes finite numbers`);
    const series = this.#series.at(labels);
    series.count++;
    series.sum += value;
    // There are at most some 40 bounds, and most values are below the first few.
    const index = this.#bounds.findIndex((bound) => value <= bound);
    const before = series.counts[index];
    if (before !== undefined) series.counts[index] = before + 1;
  }

  /** In Prometheus' text format, without the head. */
  lines(): readonly string[] {
    const lines: string[] = [];
    this.#series.forEach((labels, { counts, count, sum }) => {
      const shared = labels === "" ? "" : `,${labels}`;
      let upTo = 0;
      for (const [index, bound] of this.#bounds.entries())
        lines.push(sampleText(`${this.#name}_bucket`, `le="${bound}"${shared}`, (upTo += counts[index] ?? 0)));
      lines.push(
        sampleText(`${this.#name}_bucket`, `le="+Inf"${shared}`, count),
        sampleText(`${this.#name}_sum`, labels, sum),
        sampleText(`${this.#name}_count`, labels, count),
      );
    });
    return lines;
  }
}
