// A whole run as data, kept so that it can be read again and checked, and as a page for people: where it is behind, all goals, then every figure with its spread.
import { readFileSync, writeFileSync } from "node:fs";
import * as z from "zod";
import type { ScenarioResult } from "./measure/rounds.ts";
import { isMetSometimes, judge, summarize, type Summary, type Verdict } from "./measure/verdict.ts";
import type { Goal, Metric, Sample } from "./scenario.ts";

/** All that is known of a run. */
export interface BenchRun {
  readonly command: string;
  readonly date: string;
  /** The machine and the versions, one line each. */
  readonly facts: readonly string[];
  readonly results: readonly ScenarioResult[];
  /** Scenarios that could not be measured. */
  readonly failures: readonly { readonly scenario: string; readonly message: string }[];
}

/** Writes every round. Paths of programs belong to the machine and are left out. */
export function writeRun(run: BenchRun, file: string): void {
  const json = JSON.stringify(run, (key, value: unknown) => (key === "command" && typeof value === "object" ? undefined : inDigits(value)), 1);
  writeFileSync(file, `${json}\n`);
}

/** Reads what `writeRun` wrote. */
export function readRun(file: string): BenchRun {
  const content: unknown = JSON.parse(readFileSync(file, "utf8"));
  // Our own file: that it is one is looked at, not every field of it.
  z.object({
    command: z.string(),
    date: z.string(),
    facts: z.array(z.string()),
    results: z.array(z.object({ scenario: z.looseObject({ id: z.string() }) })),
  }).parse(content);
  return content as BenchRun;
}

/** The run with what was measured after it, by itself, in place of what it has of the same scenarios; in the order of `ids`. */
export function withNewer(run: BenchRun, newer: BenchRun, ids: readonly string[]): BenchRun {
  const elsewhere = newer.facts.filter((fact) => !run.facts.includes(fact));
  const measured = [newer.date, ...elsewhere].join("; ");
  const fresh = newer.results.map((result) => ({ ...result, measured }));
  const isFresh = ({ scenario: { id } }: ScenarioResult): boolean => fresh.some((result) => result.scenario.id === id);
  const results = [...run.results.filter((result) => !isFresh(result)), ...fresh];
  return { ...run, results: results.toSorted((a, b) => ids.indexOf(a.scenario.id) - ids.indexOf(b.scenario.id)) };
}

function inDigits(value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(6)) : value;
}

/** The whole page, as Markdown. */
export function resultsPage(run: BenchRun): string {
  const verdicts = run.results.flatMap(judge);
  const missed = verdicts.filter(({ met }) => !met);
  const took = Math.round(run.results.reduce((sum, { tookMs }) => sum + tookMs, 0) / 60_000);
  return [
    "# Results",
    `Written by \`${run.command}\` on ${run.date}, in ${took} minutes; how it was measured is in [README.md](README.md), and every round of it in [results.json](results.json). ` +
      "Ratios are what counts: both sides of a ratio ran in the same round on the same machine. Each figure is the median of its rounds, with the lowest and the highest behind it; where nothing is behind it, there was one round.",
    run.facts.map((fact) => `- ${fact}`).join("\n"),
    ...(run.failures.length === 0 ? [] : ["## Not measured", run.failures.map(({ scenario, message }) => `- ${scenario}: ${message}`).join("\n")]),
    "## Where it is behind",
    missed.length === 0
      ? "Nowhere: every goal was met."
      : `${missed.length} of ${verdicts.length} goals were missed, ${missed.filter(isMissedAlways).length} of them in every round. Two more that were missed are no longer measured: [README.md](README.md#not-met).`,
    ...(missed.length === 0 ? [] : [goalTable(missed)]),
    "## Goals",
    goalTable(verdicts),
    "## Who took part",
    whoTookPart(run.results),
    ...run.results.flatMap(scenarioSection),
    "",
  ].join("\n\n");
}

/** The goals with what was reached. */
export function goalTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ goal, reached, met }) => {
    const isRatio = goal.type !== "limit";
    const figure = reached ? withSpread(reached, isRatio ? 2 : 1, isRatio ? "×" : "") : "did not finish";
    return [goal.text, wantedBy(goal), !reached && met ? "the other did not finish" : figure, outcomeOf({ goal, reached, met })];
  });
  return markdownTable(["goal", "wanted", "reached", ""], rows);
}

/** A goal that some rounds met and others did not says more about the machine's noise than about the contestants. */
function outcomeOf(verdict: Verdict): string {
  if (verdict.met) return "met";
  return isMissedAlways(verdict) ? "**missed**" : "**missed**, not in every round";
}

function isMissedAlways({ goal, reached, met }: Verdict): boolean {
  return !met && !(reached && isMetSometimes(goal, reached));
}

function wantedBy(goal: Goal): string {
  if (goal.type === "limit") return `< ${goal.below}${goal.over === "worst" ? " in every round" : ""}`;
  return goal.type === "ratio" ? `≤ ${goal.atMost}×` : `≤ ${goal.atMost}× of N log N`;
}

/** A line for each way in which contestants were started, with those that were. */
function whoTookPart(results: readonly ScenarioResult[]): string {
  const settings = new Set(results.flatMap((result) => result.results.map(({ contestant }) => contestant.settings)));
  return [...settings].map((setting) => `- ${setting}`).join("\n");
}

function scenarioSection({ scenario, results, rounds, tookMs, measured }: ScenarioResult): readonly string[] {
  const cell = (samples: readonly Sample[], metric: string): string => {
    const values = samples.map((sample) => sample[metric]).filter((value) => value !== undefined);
    return values.length === 0 ? "" : withSpread(summarize(values), 1);
  };
  const rows = results.map(({ contestant, samples }) => [contestant.label].concat(scenario.metrics.map(({ id }) => cell(samples, id))));
  return [
    `## ${scenario.title}`,
    scenario.method,
    markdownTable(["contestant", ...scenario.metrics.map(headingOf)], rows),
    `\`${scenario.id}\`: ${rounds} ${rounds === 1 ? "round" : "rounds"} in ${(tookMs / 1000).toFixed(0)} s${measured === undefined ? "" : `, measured by itself: ${measured}`}.`,
  ];
}

/** A metric with its unit. */
function headingOf({ label, unit }: Metric): string {
  return unit === "" ? label : `${label}, ${unit}`;
}

/** The median, and behind it the lowest and the highest if there was more than one round. */
function withSpread({ median, lowest, highest, rounds }: Summary, digits: number, unit = ""): string {
  const round = (value: number): string => {
    if (digits === 1 && Math.abs(value) >= 100) return value.toFixed(0);
    // A ratio that is nearly nothing is not nothing.
    return digits === 2 && value > 0 && value < 0.01 ? value.toPrecision(1) : value.toFixed(digits);
  };
  return rounds === 1 ? `${round(median)}${unit}` : `${round(median)}${unit} (${round(lowest)}–${round(highest)})`;
}

/** A table in Markdown with its columns lined up, so that it reads well as plain text too; the first column is aligned left, the others right. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) => Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => (column === 0 ? (cells[column] ?? "").padEnd(width) : (cells[column] ?? "").padStart(width))).join(" | ")} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`;
  return [line(header), rule, ...rows.map(line)].join("\n");
}
