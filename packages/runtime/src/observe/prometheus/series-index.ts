// The series of one metric, found by the values of its labels without making anything: this happens several times per request and per reconcile.
import { labelsText } from "./text-format.ts";

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
