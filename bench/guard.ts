// The regression guard of `make bench-quick`: what of a scenario it runs, the checked-in ratios, and whether one of this run is worse than its own noise explains.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { ScenarioResult } from "./measure/rounds.ts";
import { quantile, roundsOf } from "./measure/verdict.ts";
import { markdownTable } from "./results.ts";
import { type Contestant, contendersIn, contestantsOf, type Goal, type RatioGoal, type Scenario } from "./scenario.ts";

/** What of a scenario `make bench-quick` runs: it without goals and contestants that no guarded ratio needs; as it is if it has no such ratio. */
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

const baselineFile = join(import.meta.dirname, "baseline.json");

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
interface GuardedRatio {
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

/** How a ratio fares next to its baseline; lower is better. */
interface Comparison {
  /** Medians of the rounds. */
  readonly before: number;
  readonly now: number;
  /** The most that `now / before` may be. */
  readonly allowed: number;
  readonly worse: boolean;
}

/** So many standard errors: one comparison in some hundred exceeds it by chance, and what does is looked at a second time. */
const errorsAllowed = 3;
/** A median of normal values is that much less certain than their mean: √(π/2). */
const medianPenalty = Math.sqrt(Math.PI / 2);
/** Less than this is never held against anybody: between two runs more changes than the rounds of one can show, such as how the kernel placed the processes. */
const minAllowed = 0.05;

/**
 * Compares two sets of rounds. The noise is what the rounds themselves show: the standard deviation of their logarithms around each set's own mean, both sets together.
 * What is allowed is three standard errors of the difference of the two medians, and at least 5 %.
 */
export function compareRounds(before: readonly number[], now: readonly number[]): Comparison {
  if (![...before, ...now].every((ratio) => ratio > 0 && Number.isFinite(ratio)) || before.length === 0 || now.length === 0) {
    throw new Error(`comparing ratios: [${before.join(", ")}] and [${now.join(", ")}] must be positive numbers, and some of each`);
  }
  const medians = { before: quantile(before, 0.5), now: quantile(now, 0.5) };
  const error = noiseOf([before, now]) * Math.sqrt(1 / before.length + 1 / now.length) * medianPenalty;
  const allowed = Math.exp(Math.max(errorsAllowed * error, Math.log(1 + minAllowed)));
  return { ...medians, allowed, worse: medians.now / medians.before > allowed };
}

/** The standard deviation of the logarithms within the sets; zero when no set has two values. */
export function noiseOf(sets: readonly (readonly number[])[]): number {
  let squares = 0;
  let freedom = 0;
  for (const set of sets) {
    const logarithms = set.map(Math.log);
    const mean = logarithms.reduce((sum, value) => sum + value, 0) / logarithms.length;
    for (const value of logarithms) squares += (value - mean) ** 2;
    freedom += Math.max(0, set.length - 1);
  }
  return freedom === 0 ? 0 : Math.sqrt(squares / freedom);
}

/** What became of one ratio. */
type Finding =
  | { readonly type: "compared"; readonly ratio: GuardedRatio; readonly comparison: Comparison }
  /** Measured, and not in the baseline. */
  | { readonly type: "new"; readonly ratio: GuardedRatio }
  /** In the baseline, and not measured. */
  | { readonly type: "gone"; readonly key: string };

/** Compares every ratio of the run and of the baseline. */
export function guard(ratios: readonly GuardedRatio[], baseline: Pick<Baseline, "ratios">): readonly Finding[] {
  const measured = new Set(ratios.map(({ key }) => key));
  const gone = Object.keys(baseline.ratios).filter((key) => !measured.has(key));
  return [
    ...ratios.map((ratio): Finding => {
      const before = baseline.ratios[ratio.key];
      return before ? { type: "compared", ratio, comparison: compareRounds(before, ratio.rounds) } : { type: "new", ratio };
    }),
    ...gone.map((key): Finding => ({ type: "gone", key })),
  ];
}

/** The findings that fail a run. A ratio that nobody has put into the baseline fails it too: it would never be guarded. */
export function failuresIn(findings: readonly Finding[]): readonly Finding[] {
  return findings.filter((finding) => finding.type !== "compared" || finding.comparison.worse);
}

/** The scenarios with a ratio that is worse: to be looked at a second time. */
export function suspectsIn(findings: readonly Finding[]): ReadonlySet<string> {
  return new Set(findings.flatMap((finding) => (finding.type === "compared" && finding.comparison.worse ? [finding.ratio.scenario] : [])));
}

/** The findings of two looks: what was worse the first time is as the second look says; one look is enough for the rest. */
export function afterSecondLook(first: readonly Finding[], second: readonly Finding[]): readonly Finding[] {
  const again = new Map(second.flatMap((finding) => (finding.type === "compared" ? [[finding.ratio.key, finding]] : [])));
  return first.map((finding) => (finding.type === "compared" && finding.comparison.worse ? (again.get(finding.ratio.key) ?? finding) : finding));
}

/** The findings as a table. */
export function guardTable(findings: readonly Finding[]): string {
  return markdownTable(["ratio", "baseline", "now", "at most", ""], findings.map(rowOf));
}

function rowOf(finding: Finding): readonly string[] {
  if (finding.type === "gone") return [finding.key, "", "", "", "**not measured**"];
  const name = `${finding.ratio.scenario}: ${finding.ratio.text}`;
  if (finding.type === "new") return [name, "", "", "", "**not in the baseline**"];
  const { before, now, allowed, worse } = finding.comparison;
  return [name, `${inDigits(before)}×`, `${inDigits(now)}×`, `${inDigits(before * allowed)}×`, worse ? "**worse**" : "as before"];
}

function inDigits(ratio: number): string {
  return ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2);
}
