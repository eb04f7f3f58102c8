// How long does it take to issue credentials for 1,000 Kymas, next to what a tenant that takes 50 requests at a time allows?
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import { collectServerGarbage } from "../measure/server-garbage.ts";
import type { Scenario } from "../scenario.ts";
import { applyProductCrds } from "../worlds/product-crds.ts";
import { createIssueWorld, tenantLatencyMs } from "../worlds/issue-world.ts";

const done = z.object({ type: z.literal("done"), ms: z.number() });

/** The scenario, for these contestants. */
export function issueConverge(contestants: Contestants): Scenario {
  let runs = 0;
  const loop = (what: "tenant" | "all", label: string) => ({ ...contestants.ours("issue-bare-loop", label), id: `issue-bare-loop-${what}` });
  return {
    id: "issue-converge",
    title: "Issuing credentials for 1,000 Kymas",
    method:
      `A new namespace with 1,000 Kymas, a tenant that takes ${tenantLatencyMs} ms for every answer, and a cluster for each Kyma, of which 5 % do not answer: half refuse connections, half hang. ` +
      "Keyturn is timed from its start, caches included, until every runtime that can be reached is Ready: five requests to the tenant, at most 50 of all at a time, to the " +
      "API server four writes, two Events and the reading of a kubeconfig, one write to the cluster, and a watch that stays open there. One bare loop makes the five requests to the tenant and nothing else: what its limit allows. The other makes every " +
      "request and write that is needed, and knows all of them beforehand. (With `--quick`, 100 Kymas.)",
    contestants: [contestants.ours("issue-converge", "Keyturn"), loop("tenant", "tenant alone"), loop("all", "bare loop")],
    metrics: [{ id: "converged", label: "converged", unit: "ms" }],
    goals: [
      {
        text: "1,000 Kymas: time, of what 50 requests at a time allow (tenant alone)",
        contestant: "issue-converge",
        metric: "converged",
        type: "ratio",
        of: "issue-bare-loop-tenant",
        atMost: 1.3,
      },
      {
        text: "1,000 Kymas: time, of a bare loop with the same requests and writes",
        contestant: "issue-converge",
        metric: "converged",
        type: "ratio",
        of: "issue-bare-loop-all",
        atMost: 1.3,
      },
    ],
    prepare: applyProductCrds,
    async measure({ id, command }, bed) {
      const kymas = id === "issue-converge";
      await using world = await createIssueWorld(bed, { name: String(runs++), size: bed.quick ? 100 : 1000, deadEnds: true, kymas });
      const folder = mkdtempSync(join(tmpdir(), "bench-issue-"));
      try {
        const file = join(folder, "plan.json");
        writeFileSync(file, JSON.stringify({ credentials: world.credentials, runtimes: world.reachable }));
        const args = kymas ? world.args : [id === "issue-bare-loop-tenant" ? "tenant" : "all", file, world.namespace, world.system];
        await collectServerGarbage(bed);
        await using contestant = new ContestantProcess({ ...command, args: [...command.args, ...args] }, bed.cluster.adminKubeconfig);
        return { converged: done.parse(await contestant.next(300_000)).ms };
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  };
}
