// The checked-in ratios that `make bench-quick` is held against: every round of each, because their spread is the noise.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { ScenarioResult } from "../measure/rounds.ts";
import { roundsOf } from "../measure/verdict.ts";
import type { RatioGoal } from "../scenario.ts";

/** Where it is. */
const baselineFile = join(import.meta.dirname, "..", "baseline.json");

const baselineSchema = z.object({
  /** When it was written, and what it belongs to; for people. */
  date: z.string(),
  facts: z.array(z.string()),
  /** The rounds of each ratio, by its key. */
  ratios: z.record(z.string(), z.array(z.number().positive())),
});

/** Ratios by key, with the machine that they were measured on. */
export type Baseline = z.infer<typeof baselineSchema>;

/** A ratio of this run. */
export interface GuardedRatio {
  /** Stays the same when texts change. */
  readonly key: string;
  readonly text: string;
  readonly scenario: string;
  readonly rounds: readonly number[];
}

/** The ratios of a run: those of its goals. */
export function guardedRatios(results: readonly ScenarioResult[]): readonly GuardedRatio[] {
  return results.flatMap((result) =>
    result.scenario.goals
      .filter((goal): goal is RatioGoal => goal.type === "ratio")
      .map((goal) => ({ key: keyOf(result.scenario.id, goal), text: goal.text, scenario: result.scenario.id, rounds: roundsOf(result, goal) }))
      .filter(({ rounds }) => rounds.length > 0),
  );
}

/** The baseline that a run makes. */
export function baselineOf(results: readonly ScenarioResult[], head: Pick<Baseline, "date" | "facts">): Baseline {
  const inDigits = (value: number): number => Number(value.toPrecision(4));
  const ratios = guardedRatios(results).map(({ key, rounds }) => [key, rounds.map(inDigits)] as const);
  return { ...head, ratios: Object.fromEntries(ratios.toSorted(([a], [b]) => (a < b ? -1 : 1))) };
}

/** The checked-in one. */
export function readBaseline(file = baselineFile): Baseline {
  if (!existsSync(file))
    throw new Error(`holding ratios against a baseline: there is no ${file}; write it with: node bench/main.ts --quick --write-baseline`);
  return baselineSchema.parse(JSON.parse(readFileSync(file, "utf8")));
}

/** Writes it in a form in which a change of one ratio is a change of one line. */
export function writeBaseline(baseline: Baseline, file = baselineFile): void {
  const ratios = Object.entries(baseline.ratios).map(
    ([key, rounds]) => `    ${JSON.stringify(key)}: ${JSON.stringify(rounds).replaceAll(",", ", ")}`,
  );
  const { date, facts } = baseline;
  const head = `  "date": ${JSON.stringify(date)},\n  "facts": ${JSON.stringify(facts)},\n`;
  writeFileSync(file, `{\n${head}  "ratios": {\n${ratios.join(",\n")}\n  }\n}\n`);
}

function keyOf(scenario: string, { contestant, metric, of }: RatioGoal): string {
  return `${scenario}: ${metric} of ${contestant} by ${of}`;
}
