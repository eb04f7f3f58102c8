// What does it cost to hold a watch on each of 2,000 clusters?
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import type { Scenario } from "../scenario.ts";
import { startTargetClusters } from "../worlds/target-clusters.ts";

const line = z.object({ type: z.enum(["ready", "open"]), heapBytes: z.number() });
/** So many first, which do not count; the programs know it too. */
const warmUp = 50;
const settleMs = 3000;

/** The scenario, for these contestants. */
export function issueWatches(contestants: Contestants): Scenario {
  return {
    id: "issue-watches",
    title: "A watch on each of 2,000 clusters",
    method:
      `One TLS connection and one watch of one Secret per cluster, as the issuing controller holds them. After ${warmUp} that do not count, 2,000 are opened; what each takes is the ` +
      "difference by their number: of JavaScript's memory (heap and buffers, after a collection), and of the whole process as the kernel counts it, which is mostly OpenSSL's. Beside it " +
      "stands a bare TLS socket that has sent one request and got one answer, with nothing around it. (With `--quick`, 500.)",
    contestants: [contestants.ours("issue-watches", "Keyturn"), contestants.ours("issue-bare-sockets", "bare TLS sockets")],
    metrics: [
      { id: "script", label: "JavaScript kB each", unit: "" },
      { id: "process", label: "process kB each", unit: "" },
    ],
    goals: [
      {
        text: "2,000 clusters with a watch: JavaScript memory each, kB",
        contestant: "issue-watches",
        metric: "script",
        type: "limit",
        below: 60,
        over: "median",
      },
      {
        text: "2,000 clusters with a watch: process memory each, kB",
        contestant: "issue-watches",
        metric: "process",
        type: "limit",
        below: 60,
        over: "median",
      },
    ],
    prepare: () => Promise.resolve(),
    async measure({ command }, { cluster, quick }) {
      const count = quick ? 500 : 2000;
      const folder = mkdtempSync(join(tmpdir(), "bench-watches-"));
      try {
        await using targets = await startTargetClusters();
        const file = join(folder, "kubeconfigs.json");
        const kubeconfigs = Array.from({ length: warmUp + count }, (_, index) => targets.kubeconfig(`cluster-${index}`));
        writeFileSync(file, JSON.stringify({ kubeconfigs }));
        await using contestant = new ContestantProcess(
          { ...command, args: ["--expose-gc", ...command.args, file, String(warmUp)] },
          cluster.adminKubeconfig,
        );
        const before = line.parse(await contestant.next());
        await delay(settleMs);
        const processBefore = contestant.usage().rssBytes;
        contestant.say("go");
        const after = line.parse(await contestant.next(240_000));
        await delay(settleMs);
        const each = (bytes: number): number => bytes / count / 1024;
        return { script: each(after.heapBytes - before.heapBytes), process: each(contestant.usage().rssBytes - processBefore) };
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  };
}
