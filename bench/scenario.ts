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

/** A line that a figure must stay under. `of` names another contestant of the same scenario: ratios are taken round by round. */
export type Goal = {
  readonly text: string;
  readonly contestant: string;
  readonly metric: string;
} & (
  | { readonly type: "ratio"; readonly of: string; readonly atMost: number }
  /** `worst`: what must never happen is judged by the worst round, the rest by the median. */
  | { readonly type: "limit"; readonly below: number; readonly over: "median" | "worst" }
);

/** What scenarios run on. */
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
  /** Brings the cluster into the state the scenario needs; called once. */
  prepare(bed: Bed): Promise<void>;
  /** One run of one contestant in a process of its own. */
  measure(contestant: Contestant, bed: Bed): Promise<Sample>;
}
