// Holds what was measured against the goals.
import type { Goal } from "../scenario.ts";
import type { ScenarioResult } from "./rounds.ts";
import { summarize, type Summary } from "./statistics.ts";

/** How a goal fared. */
export interface Verdict {
  readonly goal: Goal;
  /** The ratio, or the figure itself. */
  readonly reached: Summary;
  readonly met: boolean;
}

/** Judges every goal; a ratio is the median of the rounds' own ratios, because both sides of one round ran in the same minute. */
export function judge({ scenario, results }: ScenarioResult): readonly Verdict[] {
  const valuesOf = (id: string, metric: string): readonly number[] => {
    const found = results.find(({ contestant }) => contestant.id === id);
    const values = found?.samples.map((sample) => sample[metric]).filter((value) => value !== undefined) ?? [];
    if (values.length === 0) throw new Error(`judging ${scenario.id}: ${id} has no ${metric}; correct the goal or the scenario`);
    return values;
  };
  return scenario.goals.map((goal) => {
    const values = valuesOf(goal.contestant, goal.metric);
    if (goal.type === "limit") {
      const reached = summarize(values);
      return { goal, reached, met: (goal.over === "worst" ? reached.highest : reached.median) < goal.below };
    }
    const others = valuesOf(goal.of, goal.metric);
    const reached = summarize(values.map((value, round) => value / (others[round] ?? Number.NaN)));
    return { goal, reached, met: reached.median <= goal.atMost };
  });
}
