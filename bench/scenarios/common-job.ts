// The same job for all: for each of N Secrets a ConfigMap with its certificate's digest, and an annotation that says so.
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import { requestsIn } from "../measure/request-count.ts";
import type { Bed, Contestant, Goal, Metric, Scenario } from "../scenario.ts";
import { createJobWorld } from "./job-world.ts";

const patienceMs = 300_000;

/** Everybody who does the job; the bare loop is no controller but the limit. */
export function jobContestants(contestants: Contestants): readonly Contestant[] {
  return [
    contestants.controllerRuntime("job", "controller-runtime"),
    contestants.kubeRs("job", "kube-rs"),
    contestants.ours("job", "Keyturn"),
    contestants.clientNode("job", "client-node"),
    contestants.ours("job-bare-loop", "bare loop"),
  ];
}

const peers = ["controller-runtime-job", "kube-rs-job", "client-node-job"] as const;
const metrics: readonly Metric[] = [
  { id: "converged", label: "converged", unit: "ms" },
  { id: "reconverged", label: "all changed", unit: "ms" },
  { id: "requests", label: "requests per object and change", unit: "" },
  { id: "cpu", label: "CPU", unit: "ms" },
  { id: "settled", label: "memory", unit: "MB" },
  { id: "peak", label: "peak", unit: "MB" },
];

function goals(count: number): readonly Goal[] {
  const text = (metric: string, of: string): string => `${count.toLocaleString("en")} objects: ${metric}, of ${of}`;
  const ratio = (metric: string, label: string, of: string, atMost: number): Goal => ({
    text: text(label, of),
    contestant: "job",
    metric,
    type: "ratio",
    of,
    atMost,
  });
  return [
    ...peers.flatMap((peer) => [
      ratio("converged", "convergence", peer, 1),
      ratio("reconverged", "re-convergence", peer, 1),
      ratio("requests", "requests", peer, 1),
    ]),
    ratio("converged", "convergence", "job-bare-loop", 1.25),
    ratio("reconverged", "re-convergence", "job-bare-loop", 1.25),
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
      "Requests are the API server's own count, without watches and without the benchmark's writes. The bare loop knows nothing but a watch and the cheapest write for each object. (With `--quick`, a tenth of the objects.)",
    contestants: jobContestants(contestants),
    metrics,
    goals: goals(count),
    prepare: async () => {},
    async measure({ command }, bed) {
      const objects = bed.quick ? count / 10 : count;
      await using world = await createJobWorld(bed, objects);
      const before = await requests(bed);
      const startedMs = performance.now();
      await using contestant = new ContestantProcess(command, bed.cluster.adminKubeconfig);
      await world.whenConverged(patienceMs);
      const converged = performance.now() - startedMs;
      const changedMs = performance.now();
      await world.changeAll();
      await world.whenConverged(patienceMs);
      const reconverged = performance.now() - changedMs;
      const made = (await requests(bed)) - before - objects;
      const { cpuMs, rssBytes, peakRssBytes } = contestant.usage();
      return { converged, reconverged, requests: made / objects / 2, cpu: cpuMs, settled: rssBytes / 2 ** 20, peak: peakRssBytes / 2 ** 20 };
    },
  };
}

async function requests({ cluster }: Bed): Promise<number> {
  return requestsIn(await cluster.kubectl("get", "--raw", "/metrics"), ["secrets", "configmaps"]);
}
