// What of a scenario `make bench-quick` runs: the ratios that are guarded, and those who stand in them.
import { type Contestant, contendersIn, contestantsOf, type Goal, type Scenario } from "../scenario.ts";

/** The scenario without goals and contestants that no guarded ratio needs; as it is if it has no such ratio. */
export function guardedPart(scenario: Scenario): Scenario {
  const needed = contendersIn(scenario.goals.filter(({ type }) => type === "ratio"));
  if (needed.size === 0) return scenario;
  const isNeeded = ({ id }: Contestant): boolean => needed.has(id);
  const { contestants, goals, warmUp } = scenario;
  return {
    ...scenario,
    contestants: contestants.filter(isNeeded),
    goals: goals.filter((goal) => stays(goal, needed)),
    ...(warmUp && { warmUp: warmUp.filter(isNeeded) }),
  };
}

function stays(goal: Goal, needed: ReadonlySet<string>): boolean {
  return goal.type === "ratio" ? !goal.unguarded : contestantsOf(goal).every((id) => needed.has(id));
}
