// Does a cost grow faster than N log N? The smaller sizes foretell the largest; what was measured there is held against it.

/** The cost of one size. */
export interface SizedCost {
  readonly size: number;
  readonly cost: number;
}

/** A cost of `fixed` for being there at all, and `perUnit` for each unit of N log N. */
export interface GrowthCurve {
  readonly fixed: number;
  readonly perUnit: number;
}

/** N log N, with a logarithm that is never below one, so that the smallest sizes count too. */
export function nLogN(size: number): number {
  return size * Math.max(1, Math.log2(size));
}

/**
 * The curve of N log N that comes closest to the costs, which are above zero. Errors count in proportion to the cost, so that small sizes weigh as much as large ones; neither part
 * is ever negative, because a negative start would let a cost that bends upwards pass for a straight one.
 */
export function fitNLogN(costs: readonly SizedCost[]): GrowthCurve {
  const rows = costs.map(({ size, cost }) => ({ weight: 1 / cost ** 2, unit: nLogN(size), cost }));
  const sum = (of: (row: (typeof rows)[number]) => number): number => rows.reduce((total, row) => total + row.weight * of(row), 0);
  const [one, unit, unit2, cost, unitCost] = [
    sum(() => 1),
    sum((row) => row.unit),
    sum((row) => row.unit ** 2),
    sum((row) => row.cost),
    sum((row) => row.unit * row.cost),
  ];
  const determinant = one * unit2 - unit ** 2;
  const fixed = (cost * unit2 - unit * unitCost) / determinant;
  const perUnit = (one * unitCost - unit * cost) / determinant;
  if (!(fixed >= 0)) return { fixed: 0, perUnit: unitCost / unit2 };
  return perUnit >= 0 ? { fixed, perUnit } : { fixed: cost / one, perUnit: 0 };
}

/** What the curve says for a size. */
export function costAt({ fixed, perUnit }: GrowthCurve, size: number): number {
  return fixed + perUnit * nLogN(size);
}

/**
 * The cost of the largest size, of what the others foretell: about 1 for N log N, less for what grows more slowly, more for what grows faster.
 * Needs three sizes. Costs below `resolution` count as that much: they cannot be told from nothing.
 */
export function excessOverNLogN(costs: readonly SizedCost[], resolution: number): number {
  const sorted = costs.map(({ size, cost }) => ({ size, cost: Math.max(resolution, cost) })).sort((a, b) => a.size - b.size);
  const largest = sorted.at(-1);
  if (!largest || sorted.length < 3) throw new Error(`judging growth: ${sorted.length} sizes were measured; it takes three`);
  return largest.cost / costAt(fitNLogN(sorted.slice(0, -1)), largest.size);
}
