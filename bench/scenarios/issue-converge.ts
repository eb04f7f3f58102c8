// How long does it take to issue credentials for 1,000 Kymas, next to what a tenant that takes 50 requests at a time allows?
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, collectionPath, Namespace, Secret } from "@keyturn/runtime";
import * as z from "zod";
import { renderCrds } from "../../packages/keyturn/src/cli/crds.ts";
import { EventingAuth, Kyma } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { startIasStandIn } from "../../packages/keyturn/src/dev/stand-ins/ias/ias-stand-in.ts";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import type { Bed, Scenario } from "../scenario.ts";
import { kubeconfigOf, startTargetClusters } from "./target-clusters.ts";

const writers = 16;
const latencyMs = 20;
const done = z.object({ type: z.literal("done"), ms: z.number() });
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The scenario, for these contestants. */
export function issueConverge(contestants: Contestants): Scenario {
  let runs = 0;
  const loop = (what: "tenant" | "all", label: string) => ({ ...contestants.ours("issue-bare-loop", label), id: `issue-bare-loop-${what}` });
  return {
    id: "issue-converge",
    title: "Issuing credentials for 1,000 Kymas",
    method:
      `A new namespace with 1,000 Kymas, a tenant that takes ${latencyMs} ms for every answer, and a cluster for each Kyma, of which 5 % do not answer: half refuse connections, half hang. ` +
      "Keyturn is timed from its start, caches included, until every runtime that can be reached is Ready: five requests to the tenant, at most 50 of all at a time, four writes to the " +
      "API server, one to the cluster, and a watch that stays open there. One bare loop makes the five requests to the tenant and nothing else: what its limit allows. The other makes every " +
      "request and write that is needed, and knows all of them beforehand. (With `--quick`, 200 Kymas.)",
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
    async prepare({ cluster }) {
      await cluster.apply(renderCrds());
      await cluster.apply(await readFile(new URL("../../examples/issue/kyma-crd.yaml", import.meta.url), "utf8"));
    },
    async measure({ id, command }, bed) {
      const run = runs++;
      const count = bed.quick ? 200 : 1000;
      const folder = mkdtempSync(join(tmpdir(), "bench-issue-"));
      await using tenant = await startIasStandIn({ latencyMs });
      await using targets = await startTargetClusters();
      await using dead = await startDeadEnds();
      const names = Array.from({ length: count }, (_, index) => `runtime-${String(index).padStart(4, "0")}`);
      const runtimes = names.map((name, index) => ({
        name,
        // One in twenty, and every other one of those hangs.
        kubeconfig:
          index % 20 === 0 ? kubeconfigOf(index % 40 === 0 ? dead.hanging : dead.refusing, targets.authority, name) : targets.kubeconfig(name),
      }));
      const reachable = runtimes.filter((_, index) => index % 20 !== 0);
      const credentials = { url: base64(tenant.url), username: base64(tenant.username), password: base64(tenant.password) };
      const place = { namespace: `bench-issue-${run}`, system: `bench-issue-system-${run}` };
      try {
        await seed(bed.cluster.client, place, { runtimes, credentials, kymas: id === "issue-converge" });
        const file = join(folder, "plan.json");
        writeFileSync(file, JSON.stringify({ credentials, runtimes: reachable }));
        const args =
          id === "issue-converge"
            ? [place.namespace, place.system, String(reachable.length)]
            : [id === "issue-bare-loop-tenant" ? "tenant" : "all", file, place.namespace];
        await using contestant = new ContestantProcess({ ...command, args: [...command.args, ...args] }, bed.cluster.adminKubeconfig);
        return { converged: done.parse(await contestant.next(300_000)).ms };
      } finally {
        rmSync(folder, { recursive: true });
        await clear(bed, place);
      }
    },
  };
}

interface Place {
  readonly namespace: string;
  readonly system: string;
}

/** Addresses behind which there is no cluster: one that refuses connections, and one that takes them and says nothing. */
async function startDeadEnds(): Promise<AsyncDisposable & { readonly hanging: string; readonly refusing: string }> {
  const server = createServer((socket) => socket.on("error", () => socket.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    hanging: `https://127.0.0.1:${port}`,
    refusing: "https://127.0.0.1:1",
    async [Symbol.asyncDispose]() {
      server.close();
      await Promise.resolve();
    },
  };
}

async function seed(
  client: Client,
  { namespace, system }: Place,
  {
    runtimes,
    credentials,
    kymas,
  }: {
    readonly runtimes: readonly { readonly name: string; readonly kubeconfig: string }[];
    readonly credentials: Readonly<Record<string, string>>;
    readonly kymas: boolean;
  },
): Promise<void> {
  for (const name of [namespace, system]) await client.create(Namespace, { metadata: { name } });
  if (!kymas) return;
  await client.create(Secret, { metadata: { namespace: system, name: "eventing-auth-ias-creds" }, data: credentials });
  let next = 0;
  const write = async (): Promise<void> => {
    for (let runtime = runtimes[next++]; runtime; runtime = runtimes[next++]) {
      const { name, kubeconfig } = runtime;
      await client.create(Secret, { metadata: { namespace: system, name: `kubeconfig-${name}` }, data: { config: base64(kubeconfig) } });
      const kyma = { metadata: { namespace, name }, spec: { channel: "regular" } };
      await client.create(Kyma, kyma);
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
}

/** What is left behind makes the next run slower. Finalizers first: nobody is there any more to take them off. */
async function clear({ cluster: { client } }: Bed, { namespace, system }: Place): Promise<void> {
  const { items } = await client.list(EventingAuth, { namespace });
  const left = [...items];
  const release = async (): Promise<void> => {
    for (let item = left.pop(); item; item = left.pop()) await client.mergePatch(EventingAuth, item.metadata, { metadata: { finalizers: null } });
  };
  await Promise.all(Array.from({ length: writers }, release));
  for (const [kind, place] of [
    [EventingAuth, namespace],
    [Kyma, namespace],
    [Secret, system],
  ] as const) {
    await client.request({ method: "DELETE", path: collectionPath(kind, place), timeoutMs: 120_000 });
  }
}
