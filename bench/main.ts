// `make bench` and `make bench-quick`: every scenario on a real control plane, all contestants side by side, and a page of results.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findBinaries, startCluster } from "@keyturn/runtime/testing";
import { findContestants } from "./contestants.ts";
import {
  afterSecondLook,
  type Baseline,
  baselineOf,
  failuresIn,
  guard,
  guardedPart,
  guardedRatios,
  guardTable,
  readBaseline,
  suspectsIn,
  writeBaseline,
} from "./guard.ts";
import { describeControlPlane, describeMachine } from "./measure/control-plane.ts";
import { runScenario, type ScenarioResult } from "./measure/rounds.ts";
import { judge } from "./measure/verdict.ts";
import { readOptions } from "./options.ts";
import { type BenchRun, goalTable, readRun, resultsPage, withNewer, writeRun } from "./results.ts";
import { schedule, type Scheduled } from "./scenarios/index.ts";

const told = readOptions(process.argv.slice(2));
if (told.type === "message") {
  (told.exitCode === 0 ? process.stdout : process.stderr).write(`${told.text}\n`);
  process.exit(told.exitCode);
}
const { options } = told;
const { quick, only, "write-baseline": writesBaseline } = options;
const folder = import.meta.dirname;
const toleratedLatenessMs = 120_000;
const startedMs = performance.now();
const say = (text: string): void => void process.stderr.write(`${((performance.now() - startedMs) / 1000).toFixed(0).padStart(5)} s  ${text}\n`);

if (options.render) writePage(readRun(join(folder, "results.json")), folder);
else await bench();

async function bench(): Promise<void> {
  // Read first: that it is missing is better known now than in five minutes.
  const baseline = quick && !writesBaseline && only === undefined ? readBaseline() : undefined;
  // Built now if need be, and not in the time of the first scenario.
  await findBinaries(["etcd", "kube-apiserver", "kubectl"]);
  const contestants = await findContestants(say);
  const all = schedule(contestants);
  const chosen = all.filter(({ scenario, quickS }) => scenario.id.includes(only ?? "") && (!quick || only !== undefined || quickS !== undefined));
  if (chosen.length === 0) throw new Error(`choosing scenarios: none has ${only} in its name`);
  say(`${chosen.length} scenarios in about ${Math.ceil(chosen.reduce((sum, each) => sum + secondsOf(each), 0) / 60)} minutes`);
  const { results, failures } = await measureAll(chosen, writesBaseline ? 3 : 1);
  const facts = [...(await describeMachine()), describeControlPlane()];
  const date = new Date().toISOString().slice(0, 10);
  const run: BenchRun = { command: quick ? "make bench-quick" : "make bench", date, facts, results, failures };
  if (failures.length > 0) process.exitCode = 1;

  if (only !== undefined) {
    if (options.write) {
      const ids = all.map(({ scenario }) => scenario.id);
      writeFull(withNewer(readRun(join(folder, "results.json")), run, ids));
    }
    return void process.stdout.write(resultsPage(run));
  }
  if (!quick) {
    writeFull(run);
    process.stdout.write(`${goalTable(results.flatMap(judge))}\n\nall figures: bench/RESULTS.md\n`);
  } else if (!baseline) {
    if (failures.length > 0) throw new Error("writing the baseline: not every scenario could be measured; it stays as it is");
    writeBaseline(baselineOf(results, { date, facts }));
    process.stdout.write("written: bench/baseline.json\n");
  } else {
    const reports = join(folder, "..", "dist", "bench-quick");
    mkdirSync(reports, { recursive: true });
    writeRun(run, join(reports, "results.json"));
    writePage(run, reports);
    await guardRun(results, { baseline, chosen });
  }
}

function writeFull(run: BenchRun): void {
  writeRun(run, join(folder, "results.json"));
  writePage(run, folder);
}

function writePage(run: BenchRun, where: string): void {
  writeFileSync(join(where, "RESULTS.md"), resultsPage(run));
}

/** Runs each, `times` as long as usual; one that fails is named at the end and does not end the others. */
async function measureAll(chosen: readonly Scheduled[], times: number): Promise<Pick<BenchRun, "results" | "failures">> {
  const results: ScenarioResult[] = [];
  const failures: { scenario: string; message: string }[] = [];
  const beganMs = performance.now();
  let plannedMs = 0;
  for (const [index, scheduled] of chosen.entries()) {
    say(`scenario ${index + 1} of ${chosen.length}`);
    const late = performance.now() - beganMs > plannedMs + toleratedLatenessMs;
    plannedMs += secondsOf(scheduled) * 1000 * times;
    try {
      results.push(await runScheduled(scheduled, { times, late }));
    } catch (error) {
      const message = messageOf(error);
      say(`${scheduled.scenario.id}: not measured: ${message}`);
      failures.push({ scenario: scheduled.scenario.id, message });
    }
  }
  return { results, failures };
}

/**
 * On a control plane of its own: what others left behind in one would slow it down, and by itself a scenario gives what it gives among all.
 * `times` the rounds and the time of an ordinary run; in one that is late, a single round where rounds are long.
 */
async function runScheduled(
  { scenario, longRounds, ...scheduled }: Scheduled,
  { times, late }: { readonly times: number; readonly late: boolean },
): Promise<ScenarioResult> {
  const exactly = options.rounds === undefined ? undefined : Number(options.rounds);
  const long = quick || longRounds === undefined ? undefined : late ? 1 : longRounds;
  await using cluster = await startCluster();
  return await runScenario(
    quick ? guardedPart(scenario) : scenario,
    { cluster, quick, say },
    {
      budgetMs: secondsOf(scheduled) * 1000 * times,
      atLeast: exactly ?? (long ?? 3) * times,
      atMost: exactly ?? 11 * times,
      warmUp: long === undefined,
      now: () => performance.now(),
    },
  );
}

function secondsOf({ fullS, quickS }: Pick<Scheduled, "fullS" | "quickS">): number {
  return quick ? (quickS ?? fullS) : fullS;
}

interface Guarded {
  readonly baseline: Baseline;
  readonly chosen: readonly Scheduled[];
}

/** Holds the ratios against the baseline. What seems worse is measured again, with twice the rounds; only what is worse both times fails the run. */
async function guardRun(results: readonly ScenarioResult[], { baseline, chosen }: Guarded): Promise<void> {
  const first = guard(guardedRatios(results), baseline);
  const suspects = chosen.filter(({ scenario }) => suspectsIn(first).has(scenario.id));
  if (suspects.length > 0) say(`worse than the baseline, looking again: ${suspects.map(({ scenario }) => scenario.id).join(", ")}`);
  const again = await measureAll(suspects, 2);
  const findings = afterSecondLook(first, guard(guardedRatios(again.results), baseline));
  process.stdout.write(`${guardTable(findings)}\n\nall figures of this run: dist/bench-quick/RESULTS.md\n`);
  if (failuresIn(findings).length === 0) return;
  process.stdout.write(
    `The baseline is of ${baseline.date}, on: ${baseline.facts.join("; ")}. If what is worse is wanted, or the machine is another one, write it anew: node bench/main.ts --quick --write-baseline\n`,
  );
  process.exitCode = 1;
}

/** What went wrong first, when ending what was begun went wrong too. */
function messageOf(error: unknown): string {
  if (error instanceof SuppressedError) return messageOf(error.suppressed);
  return error instanceof Error ? error.message : String(error);
}
