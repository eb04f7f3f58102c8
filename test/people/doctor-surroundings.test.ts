// What `keyturn doctor` says of an operator's surroundings: agents on gateways, and an API server that queues by priority.
import { Lease, managedByLabel } from "@keyturn/runtime";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { beforeAll, expect, it } from "vitest";
import { agentLeaseName } from "../../packages/keyturn/src/agent/status.ts";
import { agentLeaseLabel } from "../../packages/keyturn/src/controllers/checksum/agent-lease.ts";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { checksumFeature } from "../../packages/keyturn/src/controllers/checksum/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { AgentNamespace, certificateFor } from "../agent/agent-namespace.ts";
import { typed } from "../support/typed-command.ts";

// Its own, so that there are no agents but those of this file. Clusters for tests have no limits otherwise, and there is no queue without.
const cluster = useCluster({
  apiServerArgs: ["--enable-priority-and-fairness=true", "--max-requests-inflight=400", "--max-mutating-requests-inflight=200"],
});

beforeAll(() => cluster().apply(renderCrds([checksumFeature])));

const doctor = (kubeconfig = cluster().adminKubeconfig): ReturnType<typeof typed> =>
  typed("doctor", "--controllers=checksum", "--kubeconfig", kubeconfig);

it("no agent is needed, and priorities are as they should be", async () => {
  // A server that has just got a kind may not answer for it at once.
  await soon(async () => {
    const { code, out } = await doctor();
    expect(out).toMatch(/ok +agents +no agent has shown itself/);
    expect(out).toMatch(/ok +priority +API Priority and Fairness is on: a busy neighbour cannot starve the operator/);
    expect(code).toBe(0);
  });
});

it("agents are not looked for where they have nothing to do", async () => {
  const { out } = await typed("doctor", "--controllers=rotation", "--kubeconfig", cluster().adminKubeconfig);
  // How quick the server is, is the machine's affair.
  expect(out).toMatch(/(ok|warn) +latency/);
  expect(out).not.toContain("agent");
});

it("an agent is well while what it serves is verified, and not when it holds back or falls silent", async () => {
  const world = await AgentNamespace.make(cluster(), "gateway");
  const set = { "web-1": certificateFor("one.test") };
  await world.put("web-1", set["web-1"]);
  await world.publish(set);
  const agent = await world.start();
  await soon(async () => {
    const { code, out } = await doctor();
    expect(out).toContain(`agent test in ${world.namespace}: what it serves is what the checksum says`);
    expect(code).toBe(0);
  });

  await world.put("web-2", certificateFor("two.test"));
  await soon(async () => {
    const { code, out } = await doctor();
    expect(out).toMatch(
      /^fail +agents +agent test in \S+: keeps the last verified set: Mismatch \(missing=0,unexpected=1,changed=0\) \(Mismatch\)$/m,
    );
    expect(out).toContain(`→ see \`keyturn diff -n ${world.namespace}\` and the agent's /status`);
    expect(code).toBe(1);
  });

  // One that ends on purpose takes its Lease away; one that was killed leaves it behind.
  await agent.stop();
  const labels = { [managedByLabel]: keyturn.name, [agentLeaseLabel.key]: agentLeaseLabel.value };
  await cluster().client.create(Lease, {
    metadata: { namespace: world.namespace, name: agentLeaseName("killed"), labels },
    spec: { holderIdentity: "killed", leaseDurationSeconds: 180, renewTime: "2026-01-02T03:04:05.000000Z" },
  });
  const { code, out } = await doctor();
  expect(out).not.toContain("agent test in");
  expect(out).toMatch(/^fail +agents +agent killed in \S+: the agent has not been heard of; .* \(AgentSilent\)$/m);
  expect(code).toBe(1);
});

it("somebody who may not list Leases is told that agents were not looked for", async () => {
  const { out } = await doctor(await cluster().kubeconfigFor({ user: "nobody-with-agents" }));
  expect(out).toMatch(/^warn +agents +you may not list Leases in all namespaces, so agents were not looked for$/m);
});
