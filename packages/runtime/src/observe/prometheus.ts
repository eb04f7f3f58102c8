// Counters, gauges, histograms, text.
import type { MetricRow } from "./metrics.ts";

// Prometheus' text format, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format

/** The media type of the format. */
export const textContentType = "text/plain; version=0.0.4; charset=utf-8";

/** The two lines before the series of a metric. */
export function headText(name: string, { help, type }: { readonly help: string; readonly type: string }): string {
  return `# HELP ${name} ${escapedHelp(help)}\n# TYPE ${name} ${type}`;
}

/** Adds a label to those that are text already: `a="x",b="y"`. One without a value is left out. */
export function labelsText(before: string, name: string, value: string | undefined): string {
  if (value === undefined) return before;
  return `${before === "" ? "" : `${before},`}${name}="${escapedValue(value)}"`;
}

/** One line, for labels that are text already. */
export function sampleText(name: string, labels: string, value: number): string {
  return labels === "" ? `${name} ${numberText(value)}` : `${name}{${labels}} ${numberText(value)}`;
}

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", '"': '\\"' };

function escapedHelp(text: string): string {
  return text.replaceAll(/[\\\n]/g, (character) => escapes[character] ?? character);
}

function escapedValue(text: string): string {
  return text.replaceAll(/[\\\n"]/g, (character) => escapes[character] ?? character);
}

// The series of one metric, found by the values of its labels without making anything: this happens several times per request and per reconcile.

/** Values by label name. A label that is not there is left out of the text, which to Prometheus is the same as an empty one. */
export type LabelValues = Readonly<Record<string, string | undefined>>;

/** For metrics without labels. */
export const noLabels: LabelValues = {};

/**
 * One level per label; only the last has series. Maps of maps are four times as fast as one map whose keys are put together from the values, need no
 * escaping, and hold each value once.
 */
interface Branch<Series> {
  branches: Map<string | undefined, Branch<Series>> | undefined;
  series: Map<string | undefined, Series> | undefined;
}

/**
 * The series of one metric.
 *
 * Guarantees: two sets of labels find the same series if and only if they are equal, whatever is in them; one that is removed leaves nothing behind.
 * They are listed in an order that stays: by their first label, then by the next, values in the order in which they came. A metric without labels has
 * its one series from the start.
 */
export class SeriesIndex<Series> {
  readonly #metric: string;
  readonly #names: readonly string[];
  readonly #create: () => Series;
  /** All names but the last, which is empty if there are none: no labels have it, so that the one series is found under undefined. */
  readonly #path: readonly string[];
  readonly #last: string;
  #root: Branch<Series> = { branches: undefined, series: undefined };

  constructor(metric: string, names: readonly string[], create: () => Series) {
    this.#metric = metric;
    this.#names = names;
    this.#create = create;
    this.#path = names.slice(0, -1);
    this.#last = names.at(-1) ?? "";
    this.clear();
  }

  /** The series of these labels, which is made if there is none. Throws if a label is not one of the metric's. */
  at(labels: LabelValues): Series {
    this.#checkNames(labels);
    let branch: Branch<Series> | undefined = this.#root;
    for (const name of this.#path) {
      branch = branch.branches?.get(labels[name]);
      if (!branch) return this.#add(labels);
    }
    return branch.series?.get(labels[this.#last]) ?? this.#add(labels);
  }

  remove(labels: LabelValues): void {
    this.#checkNames(labels);
    this.#takeOut(this.#root, labels, 0);
  }

  /** Removes all; a metric without labels starts anew. */
  clear(): void {
    this.#root = { branches: undefined, series: undefined };
    if (this.#names.length === 0) this.#add(noLabels);
  }

  /** Shows each series with its labels in text form, `a="x",b="y"`. */
  forEach(visit: (labels: string, series: Series) => void): void {
    this.#visit(this.#root, { depth: 0, before: "" }, visit);
  }

  #add(labels: LabelValues): Series {
    let branch = this.#root;
    for (const name of this.#path) {
      branch.branches ??= new Map();
      let next = branch.branches.get(labels[name]);
      if (!next) branch.branches.set(labels[name], (next = { branches: undefined, series: undefined }));
      branch = next;
    }
    const series = this.#create();
    branch.series ??= new Map();
    branch.series.set(labels[this.#last], series);
    return series;
  }

  /** Takes a series out, and the branches that led to nothing else. */
  #takeOut(branch: Branch<Series>, labels: LabelValues, depth: number): void {
    const name = this.#path[depth];
    if (name === undefined) return void branch.series?.delete(labels[this.#last]);
    const next = branch.branches?.get(labels[name]);
    if (!next) return;
    this.#takeOut(next, labels, depth + 1);
    if (!next.branches?.size && !next.series?.size) branch.branches?.delete(labels[name]);
  }

  #visit(branch: Branch<Series>, { depth, before }: { depth: number; before: string }, visit: (labels: string, series: Series) => void): void {
    const name = this.#path[depth] ?? this.#last;
    branch.branches?.forEach((next, value) => this.#visit(next, { depth: depth + 1, before: labelsText(before, name, value) }, visit));
    branch.series?.forEach((series, value) => visit(labelsText(before, name, value), series));
  }

  #checkNames(labels: LabelValues): void {
    for (const name in labels) {
      if (!this.#names.includes(name))
        throw new Error(`cannot use the label ${name} with the metric ${this.#metric}, whose labels are (${this.#names.join(", ")})`);
    }
  }
}

// The lines of a metric whose series are single numbers.

/** One line per series. */
export function valueLines(name: string, series: SeriesIndex<{ readonly value: number }>): readonly string[] {
  const lines: string[] = [];
  series.forEach((labels, { value }) => lines.push(sampleText(name, labels, value)));
  return lines;
}

// A number that only grows.

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

// A number that can become any other, and can go away.

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

// How often values were up to this and that bound.

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

// All metrics of a process by name, and their text.

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
