// Holds what was measured against the goals: medians and ranges, ratios round by round, and whether a cost grows faster than N log N.
import type { Goal } from "../scenario.ts";
import type { ScenarioResult } from "./rounds.ts";

/** How a goal fared. */
export interface Verdict {
  readonly goal: Goal;
  /** The ratio, or the figure itself; undefined if one side of it did not get as far as having one. */
  readonly reached: Summary | undefined;
  readonly met: boolean;
}

/** Judges every goal; a ratio is the median of the rounds' own ratios, because both sides of one round ran in the same minute. */
export function judge(result: Pick<ScenarioResult, "scenario" | "results">): readonly Verdict[] {
  return result.scenario.goals.map((goal) => {
    const rounds = roundsOf(result, goal);
    if (rounds.length > 0) {
      const reached = summarize(rounds);
      return { goal, reached, met: isMet(goal, reached) };
    }
    // Who finishes is ahead of who does not.
    const finished = goal.type === "ratio" && figuresOf(result, goal.contestant, goal.metric).some((figure) => figure !== undefined);
    return { goal, reached: undefined, met: finished };
  });
}

/** What a scenario's rounds gave for a goal: the figure, or the ratio of two figures of the same round. Rounds that lack one of them are left out. */
export function roundsOf(result: Pick<ScenarioResult, "scenario" | "results">, goal: Goal): readonly number[] {
  if (goal.type === "limit") return known(figuresOf(result, goal.contestant, goal.metric));
  if (goal.type === "ratio") {
    const others = figuresOf(result, goal.of, goal.metric);
    return known(
      figuresOf(result, goal.contestant, goal.metric).map((ours, round) => {
        const other = others[round];
        return ours === undefined || other === undefined ? undefined : ours / other;
      }),
    );
  }
  const columns = Object.entries(goal.sizes).map(([id, size]) => ({ size, figures: figuresOf(result, id, goal.metric) }));
  const rounds = Math.max(...columns.map(({ figures }) => figures.length));
  const costsOf = (round: number): readonly SizedCost[] =>
    columns.flatMap(({ size, figures }) => (figures[round] === undefined ? [] : [{ size, cost: figures[round] }]));
  return Array.from({ length: rounds }, (_, round) => costsOf(round))
    .filter((costs) => costs.length === columns.length)
    .map((costs) => excessOverNLogN(costs, goal.resolution));
}

/** One figure of one contestant, round by round. */
function figuresOf({ scenario, results }: Pick<ScenarioResult, "scenario" | "results">, id: string, metric: string): readonly (number | undefined)[] {
  const found = results.find(({ contestant }) => contestant.id === id);
  if (!found || !scenario.metrics.some((each) => each.id === metric)) {
    throw new Error(`judging ${scenario.id}: there is no ${metric} of ${id}; correct the goal or the scenario`);
  }
  return found.samples.map((sample) => sample[metric]);
}

function known(figures: readonly (number | undefined)[]): readonly number[] {
  return figures.filter((figure) => figure !== undefined);
}

/** True if the goal was met in one of the rounds at least. */
export function isMetSometimes(goal: Goal, { lowest }: Summary): boolean {
  return goal.type === "limit" ? lowest < goal.below : lowest <= goal.atMost;
}

function isMet(goal: Goal, { median, highest }: Summary): boolean {
  if (goal.type !== "limit") return median <= goal.atMost;
  return (goal.over === "worst" ? highest : median) < goal.below;
}

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

/** The cost of one size. */
export interface SizedCost {
  readonly size: number;
  readonly cost: number;
}

/** A cost of `fixed` for being there at all, and `perUnit` for each unit of N log N. */
interface GrowthCurve {
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
