// How long, with how many questions to istiod and how much memory, does it take to find the outdated workloads of a cluster?
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import type { Bed, Metric, Scenario } from "../scenario.ts";
import { fleetWorld, outdatedOf, seedFleet, startFleetIstiod } from "../worlds/sidecars-world.ts";
import { holdGoal, holdMethod, holdMetrics, holdReport, holdSample, isProbed, probedTwin, probingCommand } from "./probed-twin.ts";

const workloadsOf = ({ quick }: Bed): number => (quick ? 50 : 500);
const settleMs = 2000;

const doneLine = z.object({
  type: z.literal("done"),
  ms: z.number(),
  outdated: z.number(),
  hold: holdReport.optional(),
});

const compared: readonly Metric[] = [
  { id: "scan", label: "scan", unit: "ms" },
  { id: "questions", label: "questions", unit: "" },
  { id: "cpu", label: "CPU", unit: "ms" },
  { id: "settled", label: "memory", unit: "MB" },
  { id: "peak", label: "peak", unit: "MB" },
];

/** The scenario, for these contestants. */
export function sidecarsScan(contestants: Contestants): Scenario {
  const ours = contestants.ours("sidecars-scan", "Keyturn");
  const pair = [ours, contestants.ours("sidecars-per-pod", "loop, a question per pod")];
  const title = "Finding 20 outdated workloads among 500 with 10,000 pods";
  return {
    id: "sidecars-scan",
    title,
    method:
      "500 Deployments with 20 injected pods each; 20 of them have the sidecar of an older Istio. The injection webhook is the stand-in of istiod, over TLS on this machine. " +
      "Keyturn's controller is timed from its start, caches included, until it knows about every workload; it runs dry, so that every round finds the same. " +
      "The loop does what a plain scan does: it lists the pods, the ReplicaSets and the Deployments, and asks the webhook about each pod, one after the other, on a connection that is kept open. " +
      `*Questions* are counted by the webhook. ${holdMethod} (With \`--quick\`, 50 Deployments.)`,
    contestants: [...pair, probedTwin(ours)],
    warmUp: pair,
    metrics: [...compared, ...holdMetrics],
    goals: [
      {
        text: "questions to istiod, at most one per template",
        contestant: "sidecars-scan",
        metric: "questions",
        type: "limit",
        below: 501,
        over: "worst",
      },
      { text: "scan: time, of a question per pod", contestant: "sidecars-scan", metric: "scan", type: "ratio", of: "sidecars-per-pod", atMost: 0.5 },
      {
        text: "scan: peak memory, of a question per pod",
        contestant: "sidecars-scan",
        metric: "peak",
        type: "ratio",
        of: "sidecars-per-pod",
        atMost: 1,
      },
      holdGoal("scan", ours.id),
    ],
    plots: [{ type: "bars", title, metrics: compared.map(({ id }) => id) }],
    prepare: (bed) => seedFleet(bed, workloadsOf(bed)),
    async measure(contestant, bed) {
      const outdated = outdatedOf(workloadsOf(bed));
      await using plane = await startFleetIstiod(bed);
      const { args } = fleetWorld(workloadsOf(bed));
      await using running = new ContestantProcess(probingCommand(contestant, args), bed.cluster.adminKubeconfig);
      const done = doneLine.parse(await running.next(600_000));
      if (done.outdated !== outdated) throw new Error(`found ${done.outdated} outdated workloads where there are ${outdated}`);
      if (isProbed(contestant)) return holdSample(contestant, done.hold);
      const { cpuMs } = running.usage();
      if (!bed.quick) await delay(settleMs);
      const { rssBytes, peakRssBytes } = running.usage();
      return {
        scan: done.ms,
        questions: plane.istiod.calls.length,
        cpu: cpuMs,
        settled: rssBytes / 2 ** 20,
        peak: peakRssBytes / 2 ** 20,
      };
    },
  };
}
