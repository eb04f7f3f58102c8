// `make bench` and `make bench-quick`: one real control plane, every scenario, all contestants side by side, and a page of results.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startCluster } from "@keyturn/runtime/testing";
import * as z from "zod";
import { findContestants } from "./contestants.ts";
import { describeMachine } from "./measure/machine.ts";
import { runScenario, type ScenarioResult } from "./measure/rounds.ts";
import { judge } from "./measure/verdict.ts";
import { goalTable, resultsPage } from "./report/results-page.ts";
import { scenarios } from "./scenarios/index.ts";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    /** Only scenarios with this in their name; the page of results is then left as it is. */
    only: { type: "string" },
  },
});
const rounds = Number(options.rounds ?? (options.quick ? 3 : 11));
const startedMs = performance.now();
const say = (text: string): void => void process.stderr.write(`${((performance.now() - startedMs) / 1000).toFixed(0).padStart(5)} s  ${text}\n`);

const contestants = await findContestants(say);
const chosen = scenarios(contestants).filter(({ id }) => id.includes(options.only ?? ""));
if (chosen.length === 0) throw new Error(`choosing scenarios: none has ${options.only} in its name`);

say("starting the control plane");
await using cluster = await startCluster();
const bed = { cluster, quick: options.quick, say };
const results: ScenarioResult[] = [];
for (const scenario of chosen) results.push(await runScenario(scenario, bed, rounds));

const { gitVersion } = z.object({ gitVersion: z.string() }).parse(await cluster.client.request({ method: "GET", path: "/version" }));
const facts = [...(await describeMachine()), `Kubernetes ${gitVersion}: one kube-apiserver and one etcd on the same machine, at 127.0.0.1`];
const page = resultsPage(results, { date: new Date().toISOString().slice(0, 10), quick: options.quick, rounds, facts });
if (options.only === undefined) writeFileSync(join(import.meta.dirname, "RESULTS.md"), page);
process.stdout.write(options.only === undefined ? `${goalTable(results.flatMap(judge))}\n\nall figures: bench/RESULTS.md\n` : page);
