// What does a process cost that has one watch and nothing to do?
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import type { Scenario } from "../scenario.ts";

const readyLine = z.object({ type: z.enum(["ready", "reconciled"]) });
const settleMs = 2000;
const windowMs = 3000;

/** The scenario, for these contestants; their programs are those of `change-latency`, left alone. */
export function idleWatch(contestants: Contestants): Scenario {
  return {
    id: "idle-watch",
    title: "Idle, with one watch",
    method:
      `The whole operator (manager, one controller, one watch of one small Secret), left alone. Resident memory ${settleMs / 1000} s after it was ready and ${windowMs / 1000} s later, ` +
      "and the processor time used in between.",
    contestants: [
      contestants.controllerRuntime("react", "controller-runtime"),
      contestants.kubeRs("react", "kube-rs"),
      contestants.ours("react", "Keyturn"),
      contestants.clientNode("react", "client-node"),
      contestants.fluentClient("react", "fluent-client"),
    ],
    metrics: [
      { id: "memory", label: "memory", unit: "MB" },
      { id: "later", label: "memory later", unit: "MB" },
      { id: "peak", label: "peak", unit: "MB" },
      { id: "cpu", label: `CPU in ${windowMs / 1000} s`, unit: "ms" },
    ],
    goals: [{ text: "idle with one watch: memory, MB", contestant: "react", metric: "later", type: "limit", below: 90, over: "median" }],
    prepare: () => Promise.resolve(),
    async measure({ command }, { cluster }) {
      await using contestant = new ContestantProcess(command, cluster.adminKubeconfig);
      while (readyLine.parse(await contestant.next()).type !== "ready");
      await delay(settleMs);
      const before = contestant.usage();
      await delay(windowMs);
      const after = contestant.usage();
      return {
        memory: before.rssBytes / 2 ** 20,
        later: after.rssBytes / 2 ** 20,
        peak: after.peakRssBytes / 2 ** 20,
        cpu: after.cpuMs - before.cpuMs,
      };
    },
  };
}
