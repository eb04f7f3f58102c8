// The same job for all: for each of N Secrets a ConfigMap with its certificate's digest, and an annotation that says so.
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import { collectServerGarbage, requestsIn, serverCpuIn } from "../measure/control-plane.ts";
import type { Bed, Contestant, Goal, Metric, RatioGoal, Scenario } from "../scenario.ts";
import { createJobWorld } from "../worlds/job-world.ts";
import { holdGoal, holdMethod, holdMetrics, holdReport, holdSample, isProbed, probedTwin, probingCommand } from "./probed-twin.ts";

const patienceMs = 300_000;
/** It leaves a connection open behind every request, four for each object; with more objects they are more than a process may have on many machines. */
const fluentClientMost = 1000;
const readyLine = z.object({ type: z.literal("ready") });
const holdLine = holdReport.extend({ type: z.literal("hold") });

/** The runtimes and clients that the job was written on, the slowest first: those who are close run one after the other. */
export function jobContestants(contestants: Contestants): readonly Contestant[] {
  return [
    contestants.fluentClient("job", "fluent-client"),
    contestants.clientNode("job", "client-node"),
    contestants.kubeRs("job", "kube-rs"),
    contestants.controllerRuntime("job", "controller-runtime"),
    contestants.ours("job", "Keyturn"),
  ];
}

/** No contestant but the limit: it cannot go on after an error. */
export function jobLimit(contestants: Contestants): Contestant {
  return contestants.ours("job-bare-loop", "bare loop");
}

/** The limit for whoever applies what he owns, as our runtime does: the difference to the other is what server-side apply costs. */
function applyingLimit(contestants: Contestants): Contestant {
  return contestants.ours("job-bare-loop", "bare loop, by applies", "apply");
}

/** Two to three times behind ours in everything but requests, and the slowest: what would be guarded by it shows next to the others too. */
const fluentClient = "fluent-client-job";

/** Everybody but ours and the limit. */
export const jobPeers = ["controller-runtime-job", "kube-rs-job", "client-node-job", fluentClient] as const;

/** What a goal of the job is about. */
interface JobRatio {
  readonly metric: string;
  readonly of: string;
  readonly atMost?: number;
  /** See `RatioGoal`; next to fluent-client it need not be said. */
  readonly unguarded?: boolean;
}

/** Ours is to be no more than `atMost` times another's; `figure` says in words of what. */
export function jobGoal(figure: string, { metric, of, atMost = 1, unguarded = false }: JobRatio): RatioGoal {
  const whose = of === "job-bare-loop" ? "the bare loop" : of.replace(/-job$/, "");
  return {
    type: "ratio",
    text: `${figure}, of ${whose}`,
    contestant: "job",
    metric,
    of,
    atMost,
    ...((unguarded || of === fluentClient) && { unguarded: true }),
  };
}

const compared: readonly Metric[] = [
  { id: "converged", label: "converged", unit: "ms" },
  { id: "reconverged", label: "all changed", unit: "ms" },
  { id: "ready", label: "start to synced", unit: "ms" },
  { id: "requests", label: "requests per object and change", unit: "" },
  { id: "cpu", label: "CPU until converged", unit: "ms" },
  { id: "changeCpu", label: "CPU, all changed", unit: "ms" },
  { id: "serverCpu", label: "API server's CPU", unit: "ms" },
  { id: "settled", label: "memory", unit: "MB" },
  { id: "peak", label: "peak", unit: "MB" },
];

function peersAt(count: number): readonly string[] {
  return jobPeers.filter((id) => count <= fluentClientMost || id !== fluentClient);
}

/** A run takes the longer the more objects there are: with many, only next to the fastest peer and to the limit is it measured more than once. */
const manyObjects = 5000;
const fastestPeer = "controller-runtime-job";

/** How long the event loop is held takes a run of its own. */
function isProbedAt(count: number): boolean {
  return count < manyObjects;
}

/** What server-side apply costs is told by fewer objects as well. */
function showsApplies(count: number): boolean {
  return count < manyObjects;
}

function goals(count: number): readonly Goal[] {
  const size = `${count.toLocaleString("en")} objects`;
  return [
    ...peersAt(count).flatMap((of) => {
      const unguarded = count >= manyObjects && of !== fastestPeer;
      return [
        jobGoal(`${size}: convergence`, { metric: "converged", of, unguarded }),
        jobGoal(`${size}: re-convergence`, { metric: "reconverged", of, unguarded }),
        jobGoal(`${size}: requests`, { metric: "requests", of, unguarded }),
      ];
    }),
    jobGoal(`${size}: convergence`, { metric: "converged", of: "job-bare-loop", atMost: 1.25 }),
    jobGoal(`${size}: re-convergence`, { metric: "reconverged", of: "job-bare-loop", atMost: 1.25 }),
    ...(isProbedAt(count) ? [holdGoal(size, "job")] : []),
  ];
}

/** The scenario for one number of objects; a quick run takes a tenth of them. */
export function commonJob(contestants: Contestants, count: number): Scenario {
  const all = [
    ...jobContestants(contestants).filter(({ id }) => id === "job" || peersAt(count).includes(id)),
    jobLimit(contestants),
    ...(showsApplies(count) ? [applyingLimit(contestants)] : []),
  ];
  return {
    id: `job-${count}`,
    title: `The same job for all: ${count.toLocaleString("en")} Secrets`,
    method:
      "For each Secret that carries a label, a ConfigMap holding its certificate's SHA-256 and, once it is there, an annotation of the Secret that says so. *Converged* is from the start of the process until an observer has seen every one; " +
      "then all Secrets get another certificate, by 16 writers as quickly as they can, and *all changed* is from the first of those writes until every ConfigMap and annotation is right again. " +
      "Afterwards every object is read and checked. *Start to synced* is until the contestant says that its caches are filled. " +
      "Requests are the API server's own count, without watches and without the benchmark's writes; CPU is the contestant's in each of the two parts, and the API server's own count over both, with the benchmark's writes in it, which are the same for all. " +
      "The bare loop knows nothing but a watch and the cheapest write for each object. " +
      (showsApplies(count)
        ? "*By applies*, it writes ConfigMaps by server-side apply, as Keyturn does and no peer: that is what other owners' fields being safe costs. "
        : "") +
      (isProbedAt(count) ? `${holdMethod} ` : "") +
      (count > fluentClientMost
        ? "fluent-client takes no part: it leaves a connection open behind every request, and some 20,000 are more than a process may have on many machines. "
        : "") +
      `A figure is missing where a contestant had not done it after ${patienceMs / 1000} s. (With \`--quick\`, a tenth of the objects.)`,
    contestants: [...all, ...all.filter(({ id }) => id === "job" && isProbedAt(count)).map(probedTwin)],
    warmUp: all,
    metrics: [...compared, ...(isProbedAt(count) ? holdMetrics : [])],
    goals: goals(count),
    prepare: async () => {},
    async measure(contestant, bed) {
      const objects = bed.quick ? count / 10 : count;
      await using world = await createJobWorld(bed, objects);
      const before = await served(bed);
      const startedMs = performance.now();
      await using running = new ContestantProcess(probingCommand(contestant), bed.cluster.adminKubeconfig);
      const convergence = world.progress.isDoneWithin(patienceMs).then((done) => (done ? performance.now() - startedMs : undefined));
      readyLine.parse(await running.next(patienceMs));
      const start = { ready: performance.now() - startedMs };
      const converged = await convergence;
      if (converged === undefined) return start;
      const { cpuMs: cpu } = running.usage();
      await collectServerGarbage(bed);
      const changedMs = performance.now();
      await world.changeAll();
      if (!(await world.progress.isDoneWithin(patienceMs))) return { ...start, converged };
      const reconverged = performance.now() - changedMs;
      const after = await served(bed);
      const made = after.requests - before.requests - objects;
      const { cpuMs, rssBytes, peakRssBytes } = running.usage();
      if (isProbed(contestant)) {
        running.say("hold");
        return holdSample(contestant, holdLine.parse(await running.next()));
      }
      await world.verify();
      const memory = { settled: rssBytes / 2 ** 20, peak: peakRssBytes / 2 ** 20 };
      return {
        ...start,
        converged,
        reconverged,
        requests: made / objects / 2,
        cpu,
        changeCpu: cpuMs - cpu,
        serverCpu: after.cpuMs - before.cpuMs,
        ...memory,
      };
    },
  };
}

async function served({ cluster }: Bed): Promise<{ readonly requests: number; readonly cpuMs: number }> {
  const metrics = await cluster.kubectl("get", "--raw", "/metrics");
  return { requests: requestsIn(metrics, ["secrets", "configmaps"]), cpuMs: serverCpuIn(metrics) };
}
