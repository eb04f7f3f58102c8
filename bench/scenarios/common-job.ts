// The same job for all: for each of N Secrets a ConfigMap with its certificate's digest, and an annotation that says so.
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import { requestsIn } from "../measure/request-count.ts";
import type { Bed, Goal, Metric, Sample, Scenario } from "../scenario.ts";
import { createJobWorld } from "../worlds/job-world.ts";
import { jobContestants, jobGoal, jobLimit, jobPeers } from "./job-contestants.ts";

const patienceMs = 300_000;
const readyLine = z.object({ type: z.literal("ready") });
const holdLine = z.object({ type: z.literal("hold"), wallMs: z.number(), cpuMs: z.number() });

const metrics: readonly Metric[] = [
  { id: "converged", label: "converged", unit: "ms" },
  { id: "reconverged", label: "all changed", unit: "ms" },
  { id: "ready", label: "start to synced", unit: "ms" },
  { id: "requests", label: "requests per object and change", unit: "" },
  { id: "cpu", label: "CPU", unit: "ms" },
  { id: "settled", label: "memory", unit: "MB" },
  { id: "peak", label: "peak", unit: "MB" },
  { id: "hold", label: "hold", unit: "ms" },
  { id: "holdCpu", label: "hold (CPU)", unit: "ms" },
];

function goals(count: number): readonly Goal[] {
  const size = `${count.toLocaleString("en")} objects`;
  return [
    ...jobPeers.flatMap((of) => [
      jobGoal(`${size}: convergence`, { metric: "converged", of }),
      jobGoal(`${size}: re-convergence`, { metric: "reconverged", of }),
      jobGoal(`${size}: requests`, { metric: "requests", of }),
    ]),
    jobGoal(`${size}: convergence`, { metric: "converged", of: "job-bare-loop", atMost: 1.25 }),
    jobGoal(`${size}: re-convergence`, { metric: "reconverged", of: "job-bare-loop", atMost: 1.25 }),
    { text: `${size}: longest hold, ms`, contestant: "job", metric: "holdCpu", type: "limit", below: 25, over: "worst" },
  ];
}

/** The scenario for one number of objects; a quick run takes a tenth of them. */
export function commonJob(contestants: Contestants, count: number): Scenario {
  return {
    id: `job-${count}`,
    title: `The same job for all: ${count.toLocaleString("en")} Secrets`,
    method:
      "For each Secret that carries a label, a ConfigMap holding its certificate's SHA-256 and, once it is there, an annotation of the Secret that says so. *Converged* is from the start of the process until an observer has seen every one; " +
      "then all Secrets get another certificate, by 16 writers as quickly as they can, and *all changed* is from the first of those writes until every ConfigMap and annotation is right again. " +
      "Afterwards every object is read and checked. *Start to synced* is until the contestant says that its caches are filled. " +
      "Requests are the API server's own count, without watches and without the benchmark's writes; CPU is the contestant's over both parts. *Hold* is the longest time in which our event loop served nothing else, as in sync-secrets. " +
      "The bare loop knows nothing but a watch and the cheapest write for each object. (With `--quick`, a tenth of the objects.)",
    contestants: [...jobContestants(contestants), jobLimit(contestants)],
    metrics,
    goals: goals(count),
    prepare: async () => {},
    async measure({ id, command }, bed) {
      const objects = bed.quick ? count / 10 : count;
      const probed = id === "job";
      await using world = await createJobWorld(bed, objects);
      const before = await requests(bed);
      const startedMs = performance.now();
      await using contestant = new ContestantProcess(
        probed ? { ...command, args: [...command.args, "probe"] } : command,
        bed.cluster.adminKubeconfig,
      );
      const ready = contestant.next(patienceMs).then((line) => readyLine.parse(line) && performance.now() - startedMs);
      await Promise.all([ready, world.progress.whenDone(patienceMs)]);
      const converged = performance.now() - startedMs;
      const changedMs = performance.now();
      await world.changeAll();
      await world.progress.whenDone(patienceMs);
      const reconverged = performance.now() - changedMs;
      const made = (await requests(bed)) - before - objects;
      const { cpuMs, rssBytes, peakRssBytes } = contestant.usage();
      const sample = { ready: await ready, requests: made / objects / 2, cpu: cpuMs, settled: rssBytes / 2 ** 20, peak: peakRssBytes / 2 ** 20 };
      const hold = probed ? await longestHold(contestant) : {};
      await world.verify();
      return { converged, reconverged, ...sample, ...hold };
    },
  };
}

async function longestHold(contestant: ContestantProcess): Promise<Sample> {
  contestant.say("hold");
  const { wallMs, cpuMs } = holdLine.parse(await contestant.next());
  return { hold: wallMs, holdCpu: cpuMs };
}

async function requests({ cluster }: Bed): Promise<number> {
  return requestsIn(await cluster.kubectl("get", "--raw", "/metrics"), ["secrets", "configmaps"]);
}
