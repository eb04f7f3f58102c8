// How long, and at what cost, does a process take from nothing to a synced cache of 20,000 Secrets?
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import type { Goal, Scenario } from "../scenario.ts";
import { seedSecrets } from "./seeded-secrets.ts";

const secretCount = 20_000;
/** After the sync: long enough for a garbage collector to give memory back if it is going to. */
const settleMs = 2000;

const syncedLine = z.object({
  type: z.literal("synced"),
  objects: z.literal(secretCount),
  ms: z.number(),
  longestHoldMs: z.number().optional(),
  longestHoldCpuMs: z.number().optional(),
});

const peer = "controller-runtime-sync-whole";
const modes = ["sync-digest", "sync-metadata", "sync-whole"] as const;

const goals: readonly Goal[] = [
  { text: "digest: time, of controller-runtime's", contestant: "sync-digest", metric: "sync", type: "ratio", of: peer, atMost: 1.1 },
  { text: "digest: settled memory, MB", contestant: "sync-digest", metric: "settled", type: "limit", below: 110, over: "median" },
  { text: "metadata only: time, of controller-runtime's", contestant: "sync-metadata", metric: "sync", type: "ratio", of: peer, atMost: 0.6 },
  { text: "whole objects: time, of controller-runtime's", contestant: "sync-whole", metric: "sync", type: "ratio", of: peer, atMost: 1.3 },
  ...modes.map((mode): Goal => ({ text: `${mode}: longest hold, ms`, contestant: mode, metric: "holdCpu", type: "limit", below: 25, over: "worst" })),
];

/** The scenario, for these contestants. */
export function syncSecrets(contestants: Contestants): Scenario {
  return {
    id: "sync-secrets",
    title: `Syncing ${secretCount.toLocaleString("en")} Secrets of 4 kB`,
    method:
      "Each process starts from nothing, opens its cache and says when it is synced. *Sync* is from opening the cache to synced, *start to synced* from the start of the process. " +
      `Memory is resident memory as the kernel counts it: the peak, and ${settleMs / 1000} s after the sync. ` +
      "*Hold* is the longest time in which the event loop served nothing else: on the clock, and in processor time of the main thread, which leaves out the time in which the kernel had given the core to somebody else " +
      "(the API server and etcd run on the same cores).",
    contestants: [
      contestants.controllerRuntime("sync-whole", "controller-runtime, whole"),
      contestants.ours("sync-digest", "Keyturn, digest"),
      contestants.ours("sync-metadata", "Keyturn, metadata only"),
      contestants.ours("sync-whole", "Keyturn, whole"),
      contestants.clientNode("sync-whole", "client-node, whole"),
    ],
    metrics: [
      { id: "sync", label: "sync", unit: "ms" },
      { id: "start", label: "start to synced", unit: "ms" },
      { id: "cpu", label: "CPU", unit: "ms" },
      { id: "settled", label: "memory", unit: "MB" },
      { id: "peak", label: "peak", unit: "MB" },
      { id: "hold", label: "hold", unit: "ms" },
      { id: "holdCpu", label: "hold (CPU)", unit: "ms" },
    ],
    goals,
    prepare: (bed) => seedSecrets(bed, { count: secretCount, label: "sync" }),
    async measure({ command }, { cluster }) {
      const startedMs = performance.now();
      await using contestant = new ContestantProcess(command, cluster.adminKubeconfig);
      const synced = syncedLine.parse(await contestant.next());
      const start = performance.now() - startedMs;
      const { cpuMs } = contestant.usage();
      await delay(settleMs);
      const { rssBytes, peakRssBytes } = contestant.usage();
      return {
        sync: synced.ms,
        start,
        cpu: cpuMs,
        settled: rssBytes / 2 ** 20,
        peak: peakRssBytes / 2 ** 20,
        ...(synced.longestHoldMs !== undefined && { hold: synced.longestHoldMs }),
        ...(synced.longestHoldCpuMs !== undefined && { holdCpu: synced.longestHoldCpuMs }),
      };
    },
  };
}
