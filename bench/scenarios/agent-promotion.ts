// What does it cost to keep 20,000 verified certificates on disk: memory, the first promotion, a restart?
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import type { Bed, Scenario } from "../scenario.ts";
import { applyProductCrds, checksumWorld, seedCertificates } from "../worlds/controller-worlds.ts";
import { measureCost } from "./growth.ts";

const startedLine = z.object({ type: z.literal("started"), url: z.string(), ms: z.number() });
const statusSchema = z.object({ state: z.string(), promotion: z.object({ ok: z.boolean() }).optional() });

function certificatesOf({ quick }: Bed): number {
  return quick ? 2000 : 20_000;
}

/** The scenario, for these contestants. */
export function agentPromotion(contestants: Contestants): Scenario {
  return {
    id: "agent-promotion",
    title: "20,000 certificates on disk, verified",
    method:
      "One namespace with 20,000 Secrets of type kubernetes.io/tls (RSA 2048, a leaf and its issuer) and the checksum that the controller published of them. The agent starts with an empty folder: from its start to the " +
      "promoted set, for which it reads every Secret again and writes and flushes 40,000 files. Then it is started anew on the full folder: until everything on the disk is verified. " +
      "Memory is the agent's, at its highest in both. (With `--quick`, 2,000 certificates.)",
    contestants: [contestants.ours("agent", "Keyturn agent")],
    metrics: [
      { id: "peak", label: "peak memory", unit: "MB" },
      { id: "first", label: "start to promoted", unit: "ms" },
      { id: "restart", label: "restart, all verified", unit: "ms" },
    ],
    goals: [{ text: "agent with 20,000 certificates: memory, MB", contestant: "agent", metric: "peak", type: "limit", below: 250, over: "worst" }],
    async prepare(bed) {
      await applyProductCrds(bed);
      await seedCertificates(bed, certificatesOf(bed));
      const world = checksumWorld(bed, certificatesOf(bed));
      await measureCost(contestants.ours("controller", "publisher"), bed, { world, feature: "checksum", resources: [] });
    },
    async measure({ command }, bed) {
      const { namespace } = checksumWorld(bed, certificatesOf(bed));
      await using stack = new AsyncDisposableStack();
      const folder = await mkdtemp(join(tmpdir(), "keyturn-bench-agent-"));
      stack.defer(() => rm(folder, { recursive: true, force: true }));
      const run = async (isDone: (status: z.infer<typeof statusSchema>) => boolean) => {
        const beganMs = performance.now();
        await using agent = new ContestantProcess({ ...command, args: [...command.args, namespace, folder] }, bed.cluster.adminKubeconfig);
        const { url, ms } = startedLine.parse(await agent.next());
        while (!isDone(statusSchema.parse(await (await fetch(`${url}/status`)).json()))) await delay(20);
        return { startedMs: ms, doneMs: performance.now() - beganMs, peak: agent.usage().peakRssBytes / 2 ** 20 };
      };
      const first = await run(({ promotion }) => promotion?.ok === true);
      const again = await run(({ state }) => state === "verified");
      return { peak: Math.max(first.peak, again.peak), first: first.doneMs, restart: again.startedMs };
    },
  };
}
