// What a benchmark scenario is: one question, the same job for every contestant, figures, and the goals they are held to.
import type { Cluster } from "@keyturn/runtime/testing";
import type { Command } from "./measure/contestant-process.ts";

/** A figure that a scenario measures of each contestant. */
export interface Metric {
  readonly id: string;
  readonly label: string;
  readonly unit: "ms" | "MB" | "";
}

/** What one run of one contestant gave, by the ids of its metrics; a contestant may lack some. */
export type Sample = Readonly<Record<string, number>>;

/** A program that does a scenario's job. */
export interface Contestant {
  readonly id: string;
  readonly label: string;
  /** What was chosen for it: versions, flags, limits. Printed with the results. */
  readonly settings: string;
  readonly command: Command;
}

/** A line that a figure must stay under. */
export type Goal = RatioGoal | LimitGoal | GrowthGoal;

/** Against another contestant of the same scenario: ratios are taken round by round. */
export interface RatioGoal {
  readonly type: "ratio";
  readonly text: string;
  readonly contestant: string;
  readonly metric: string;
  readonly of: string;
  readonly atMost: number;
  /** Decided enough that one round tells, and that `make bench-quick` does not look at it. */
  readonly unguarded?: boolean;
}

/** Against a number. `worst`: what must never happen is judged by the worst round, the rest by the median. */
export interface LimitGoal {
  readonly type: "limit";
  readonly text: string;
  readonly contestant: string;
  readonly metric: string;
  readonly below: number;
  readonly over: "median" | "worst";
}

/** The cost at the largest size against what the smaller ones foretell for a cost that grows as N log N. `sizes` gives N for each contestant. */
interface GrowthGoal {
  readonly type: "growth";
  readonly text: string;
  readonly metric: string;
  readonly sizes: Readonly<Record<string, number>>;
  /** Costs below this cannot be told from nothing. */
  readonly resolution: number;
  readonly atMost: number;
}

/** Whom a goal speaks of. */
export function contestantsOf(goal: Goal): readonly string[] {
  if (goal.type === "growth") return Object.keys(goal.sizes);
  return goal.type === "ratio" ? [goal.contestant, goal.of] : [goal.contestant];
}

/** Those of whom a goal speaks that is not decided beforehand. */
export function contendersIn(goals: readonly Goal[]): ReadonlySet<string> {
  return new Set(goals.flatMap((goal) => (goal.type === "ratio" && goal.unguarded ? [] : contestantsOf(goal))));
}

/** What a scenario runs on: a control plane of its own, which knows nothing of what was measured before. */
export interface Bed {
  readonly cluster: Cluster;
  readonly quick: boolean;
  /** Says what is being done; one line. */
  readonly say: (text: string) => void;
}

/** One scenario. Contestants run one at a time, several rounds, in a new order each round. */
export interface Scenario {
  readonly id: string;
  readonly title: string;
  /** One paragraph: what is measured and how, for the results page. */
  readonly method: string;
  readonly contestants: readonly Contestant[];
  readonly metrics: readonly Metric[];
  readonly goals: readonly Goal[];
  /** The contestants of the round that does not count, if there is one; all of them unless said otherwise. */
  readonly warmUp?: readonly Contestant[];
  /** Brings the cluster into the state the scenario needs; called again, with another cluster, for a second look. */
  prepare(bed: Bed): Promise<void>;
  /** One run of one contestant in a process of its own. */
  measure(contestant: Contestant, bed: Bed): Promise<Sample>;
  /** Ends what `prepare` began, also after a failure. */
  finish?(bed: Bed): Promise<void>;
}
