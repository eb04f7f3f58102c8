// The few statistics the results need.

/** What several rounds gave of one figure. */
export interface Summary {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  readonly rounds: number;
}

/** The value below which `share` of the values lie, interpolated between neighbours; `NaN` of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? Number.NaN;
  return below + (above - below) * (position - Math.floor(position));
}

/** Median and range. */
export function summarize(values: readonly number[]): Summary {
  return { median: quantile(values, 0.5), lowest: Math.min(...values), highest: Math.max(...values), rounds: values.length };
}
