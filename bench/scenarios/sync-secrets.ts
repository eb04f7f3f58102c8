// How long, and at what cost, does a process take from nothing to a synced cache of many Secrets?
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Namespace, Secret } from "@keyturn/runtime";
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import type { Bed, Contestant, Goal, Metric, Scenario } from "../scenario.ts";
import { forEachIndex } from "../worlds/seeding.ts";
import { holdGoal, holdMethod, holdMetrics, holdReport, holdSample, isProbed, probedTwin, probingCommand } from "./probed-twin.ts";

/** After the sync: long enough for a garbage collector to give memory back if it is going to. */
const settleMs = 2000;
const patienceMs = 300_000;
const quickCount = 5000;

const syncedLine = z.object({
  type: z.literal("synced"),
  objects: z.number(),
  ms: z.number(),
  hold: holdReport.optional(),
});

const figures: readonly Metric[] = [
  { id: "sync", label: "sync", unit: "ms" },
  { id: "start", label: "start to synced", unit: "ms" },
  { id: "cpu", label: "CPU", unit: "ms" },
  { id: "settled", label: "memory", unit: "MB" },
  { id: "peak", label: "peak", unit: "MB" },
];

const modes = ["sync-digest", "sync-metadata", "sync-whole"] as const;
const wholeInGo = "controller-runtime-sync-whole";
const wholeInNode = "client-node-sync-whole";

/** 20,000 Secrets: time, memory, and how long the event loop is held. */
export function syncSecrets(contestants: Contestants): Scenario {
  const goals: readonly Goal[] = [
    { text: "digest: time, of controller-runtime's", contestant: "sync-digest", metric: "sync", type: "ratio", of: wholeInGo, atMost: 1.1 },
    { text: "digest: settled memory, MB", contestant: "sync-digest", metric: "settled", type: "limit", below: 110, over: "median" },
    { text: "metadata only: time, of controller-runtime's", contestant: "sync-metadata", metric: "sync", type: "ratio", of: wholeInGo, atMost: 0.6 },
    { text: "whole objects: time, of controller-runtime's", contestant: "sync-whole", metric: "sync", type: "ratio", of: wholeInGo, atMost: 1.3 },
    ...memoryGoals("20,000 Secrets"),
    ...modes.map((mode) => holdGoal(`20,000 Secrets, ${mode}`, mode)),
  ];
  const others = [
    contestants.ours("sync", "Keyturn, metadata only", "metadata"),
    contestants.clientNode("sync-digest", "client-node, digest in the callback"),
    contestants.fluentClient("sync-whole", "fluent-client, whole"),
  ];
  const all = [...cacheContestants(contestants), ...others];
  return {
    ...syncScenario(20_000, goals),
    id: "sync-secrets",
    contestants: [...all, ...twinsOf(all, modes)],
    warmUp: all,
  };
}

/**
 * 100,000 Secrets: what a large cluster has. fluent-client takes no part: it reads a list as one text, and with half a gigabyte a text is longer than V8 can make one.
 * client-node's digests neither: its callback comes when the whole object is kept already, and they save nothing.
 */
export function syncManySecrets(contestants: Contestants): Scenario {
  const all = cacheContestants(contestants);
  return {
    ...syncScenario(100_000, [...memoryGoals("100,000 Secrets"), holdGoal("100,000 Secrets, sync-digest", "sync-digest")]),
    id: "sync-100000",
    contestants: [...all, ...twinsOf(all, ["sync-digest"])],
    // What a round gives differs little from the next, and takes long.
    warmUp: [],
  };
}

/** Whole objects and, where it saves something, what the common job needs of them. */
function cacheContestants(contestants: Contestants): readonly Contestant[] {
  return [
    contestants.controllerRuntime("sync-whole", "controller-runtime, whole"),
    contestants.controllerRuntime("sync-digest", "controller-runtime, digest by transform"),
    contestants.kubeRs("sync-whole", "kube-rs, whole"),
    contestants.kubeRs("sync-digest", "kube-rs, digest by modify"),
    contestants.ours("sync", "Keyturn, digest", "digest"),
    contestants.ours("sync", "Keyturn, whole", "whole"),
    contestants.clientNode("sync-whole", "client-node, whole"),
  ];
}

function memoryGoals(size: string): readonly Goal[] {
  const goal = (text: string, of: string, atMost: number): Goal => ({
    text: `${size}: memory of digests, of ${text}`,
    contestant: "sync-digest",
    metric: "settled",
    type: "ratio",
    of,
    atMost,
  });
  return [goal("controller-runtime's whole objects", wholeInGo, 1), goal("client-node's whole objects", wholeInNode, 0.5)];
}

function twinsOf(contestants: readonly Contestant[], ids: readonly string[]): readonly Contestant[] {
  return contestants.filter(({ id }) => ids.includes(id)).map(probedTwin);
}

function syncScenario(count: number, goals: readonly Goal[]): Omit<Scenario, "id" | "contestants"> {
  const sizeOf = (quick: boolean): number => (quick ? Math.min(count, quickCount) : count);
  return {
    title: `Syncing ${count.toLocaleString("en")} Secrets of 4 kB`,
    method:
      "Each process starts from nothing, opens its cache and says when it is synced. *Sync* is from opening the cache to synced, *start to synced* from the start of the process. " +
      `Memory is resident memory as the kernel counts it: the peak, and ${settleMs / 1000} s after the sync. *Digest* is what the common job needs: the certificate's SHA-256 and the object's identity. ` +
      `${holdMethod} (With \`--quick\`, ${quickCount.toLocaleString("en")} Secrets.)`,
    metrics: [...figures, ...holdMetrics],
    goals,
    prepare: (bed) => seedSecrets(bed, sizeOf(bed.quick)),
    async measure(contestant, { cluster, quick }) {
      const startedMs = performance.now();
      await using running = new ContestantProcess(probingCommand(contestant), cluster.adminKubeconfig);
      const synced = syncedLine.parse(await running.next(patienceMs));
      const start = performance.now() - startedMs;
      if (synced.objects !== sizeOf(quick)) throw new Error(`synced ${synced.objects} objects where there are ${sizeOf(quick)}`);
      if (isProbed(contestant)) return holdSample(contestant, synced.hold);
      const { cpuMs } = running.usage();
      await delay(settleMs);
      const { rssBytes, peakRssBytes } = running.usage();
      return { sync: synced.ms, start, cpu: cpuMs, settled: rssBytes / 2 ** 20, peak: peakRssBytes / 2 ** 20 };
    },
  };
}

const namespaces = 20;
/** A chain of two certificates, and a key: 4,096 bytes together. */
const certificateBytes = 3000;
const keyBytes = 1096;

/** Creates so many Secrets as certificates make them, with the label `bench=sync`. */
async function seedSecrets({ cluster, say }: Bed, count: number): Promise<void> {
  const { client } = cluster;
  say(`creating ${count} Secrets of ${certificateBytes + keyBytes} bytes`);
  const namespaceOf = (index: number): string => `bench-sync-${index % namespaces}`;
  for (let index = 0; index < namespaces; index++) await client.create(Namespace, { metadata: { name: namespaceOf(index) } });
  await forEachIndex(count, async (index) => {
    const metadata = { namespace: namespaceOf(index), name: `tls-${String(index).padStart(6, "0")}`, labels: { bench: "sync" } };
    const data = { "tls.crt": randomBytes(certificateBytes).toString("base64"), "tls.key": randomBytes(keyBytes).toString("base64") };
    await client.create(Secret, { metadata, type: "kubernetes.io/tls", data }, { fieldManager: "bench", answer: "metadata" });
  });
}
