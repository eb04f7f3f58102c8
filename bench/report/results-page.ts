// Writes what was measured as a page for people: goals first, then every figure with its spread.
import type { ScenarioResult } from "../measure/rounds.ts";
import { summarize, type Summary } from "../measure/statistics.ts";
import { judge, type Verdict } from "../measure/verdict.ts";
import type { Metric } from "../scenario.ts";
import { markdownTable } from "./markdown-table.ts";

/** What the page says besides the figures. */
export interface PageHead {
  readonly date: string;
  readonly quick: boolean;
  readonly rounds: number;
  readonly facts: readonly string[];
}

/** The whole page, as Markdown. */
export function resultsPage(results: readonly ScenarioResult[], head: PageHead): string {
  const command = head.quick ? "make bench-quick" : "make bench";
  const verdicts = results.flatMap(judge);
  return [
    "# Results",
    `Written by \`${command}\` on ${head.date}; how it was measured is in [README.md](README.md). Ratios are what counts: both sides of a ratio ran in the same round on the same machine.`,
    head.facts.map((fact) => `- ${fact}`).join("\n"),
    `Each figure is the median of ${head.rounds} rounds, with the lowest and the highest behind it.`,
    "## Goals",
    goalTable(verdicts),
    ...results.flatMap(scenarioSection),
    "",
  ].join("\n\n");
}

/** The goals with what was reached. */
export function goalTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ goal, reached, met }) => {
    const wanted = goal.type === "ratio" ? `≤ ${goal.atMost}×` : `< ${goal.below}${goal.over === "worst" ? " in every round" : ""}`;
    const unit = goal.type === "ratio" ? "×" : "";
    return [goal.text, wanted, withSpread(reached, goal.type === "ratio" ? 2 : 1, unit), met ? "met" : "**missed**"];
  });
  return markdownTable(["goal", "wanted", "reached", ""], rows);
}

function scenarioSection({ scenario, results }: ScenarioResult): readonly string[] {
  const heading = (metric: Metric): string => (metric.unit === "" ? metric.label : `${metric.label}, ${metric.unit}`);
  const rows = results.map(({ contestant, samples }) => [
    contestant.label,
    ...scenario.metrics.map(({ id }) => {
      const values = samples.map((sample) => sample[id]).filter((value) => value !== undefined);
      return values.length === 0 ? "" : withSpread(summarize(values), 1);
    }),
  ]);
  return [
    `## ${scenario.title}`,
    scenario.method,
    markdownTable(["contestant", ...scenario.metrics.map(heading)], rows),
    results.map(({ contestant }) => `- ${contestant.label}: ${contestant.settings}`).join("\n"),
  ];
}

function withSpread({ median, lowest, highest }: Summary, digits: number, unit = ""): string {
  const round = (value: number): string => (digits === 1 && Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(digits));
  return `${round(median)}${unit} (${round(lowest)}–${round(highest)})`;
}
