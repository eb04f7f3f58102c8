// Holds what was measured against the goals.
import type { Goal } from "../scenario.ts";
import { excessOverNLogN, type SizedCost } from "./growth.ts";
import type { ScenarioResult } from "./rounds.ts";
import { summarize, type Summary } from "./statistics.ts";

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
