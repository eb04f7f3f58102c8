// A whole operator with one controller and one watch: how soon does it answer a change, and what does it cost while nothing changes?
import { setTimeout as delay } from "node:timers/promises";
import { Namespace, Secret } from "@keyturn/runtime";
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import { quantile } from "../measure/verdict.ts";
import type { Bed, Scenario } from "../scenario.ts";

const namespace = "bench-react";
const name = "changing";
/** Between two changes, so that each meets a process at rest. */
const pauseMs = 25;
/** How long an idle process is left alone before it is looked at, and how long it is looked at. */
const settleMs = 2000;
const windowMs = 3000;

const line = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ready") }),
  z.object({ type: z.literal("reconciled"), sequence: z.string(), atNs: z.string() }),
]);

/** From a change to the reconcile that answers it, when nothing else goes on. */
export function changeLatency(contestants: Contestants): Scenario {
  return {
    id: "change-latency",
    title: "From a change to the reconcile that answers it",
    method:
      "One Secret is patched again and again, each time after a pause, by the benchmark's own process; the contestant says when its reconcile of that change began, on the clock that all processes of the machine share. " +
      "Counted from *before the write is sent*, so the figure includes the write itself (sending, admission, etcd), which *write* gives on its own. client-node and fluent-client have no reconcile: the callback of their informer or watcher is taken.",
    contestants: [
      contestants.fluentClient("react", "fluent-client"),
      contestants.clientNode("react", "client-node"),
      contestants.kubeRs("react", "kube-rs"),
      contestants.controllerRuntime("react", "controller-runtime"),
      contestants.ours("react", "Keyturn"),
    ],
    metrics: [
      { id: "median", label: "median", unit: "ms" },
      { id: "p99", label: "p99", unit: "ms" },
      { id: "write", label: "write", unit: "ms" },
    ],
    goals: [
      { text: "change to reconcile: median, ms", contestant: "react", metric: "median", type: "limit", below: 5, over: "median" },
      {
        text: "change to reconcile: median, of controller-runtime's",
        contestant: "react",
        metric: "median",
        type: "ratio",
        of: "controller-runtime-react",
        atMost: 1,
      },
    ],
    async prepare({ cluster: { client } }) {
      await client.create(Namespace, { metadata: { name: namespace } });
      await client.create(Secret, { metadata: { namespace, name, labels: { bench: "react" } }, type: "Opaque", data: {} });
    },
    async measure({ command }, bed) {
      await using contestant = new ContestantProcess(command, bed.cluster.adminKubeconfig);
      await untilReady(contestant);
      const changes = bed.quick ? 40 : 120;
      const latencies: number[] = [];
      const writes: number[] = [];
      for (let index = 0; index < changes; index++) {
        await delay(pauseMs);
        const { latencyMs, writeMs } = await change(contestant, bed, `${process.hrtime.bigint()}`);
        latencies.push(latencyMs);
        writes.push(writeMs);
      }
      return { median: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), write: quantile(writes, 0.5) };
    },
  };
}

async function untilReady(contestant: ContestantProcess): Promise<void> {
  while (line.parse(await contestant.next()).type !== "ready");
}

async function change(contestant: ContestantProcess, { cluster }: Bed, sequence: string): Promise<{ latencyMs: number; writeMs: number }> {
  const beganNs = process.hrtime.bigint();
  await cluster.client.mergePatch(
    Secret,
    { namespace, name },
    { metadata: { annotations: { "bench/sequence": sequence } } },
    { fieldManager: "bench" },
  );
  const writtenNs = process.hrtime.bigint();
  for (;;) {
    const said = line.parse(await contestant.next(10_000));
    if (said.type !== "reconciled" || said.sequence !== sequence) continue;
    return { latencyMs: milliseconds(BigInt(said.atNs) - beganNs), writeMs: milliseconds(writtenNs - beganNs) };
  }
}

function milliseconds(ns: bigint): number {
  return Number(ns) / 1e6;
}

/** The same programs, left alone. */
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
      await untilReady(contestant);
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
