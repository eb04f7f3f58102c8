// The agent on a real API server: promotes what matches, keeps what it has otherwise, and says exactly why.
import { Lease } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { AgentNamespace, certificateFor, pairsOf, servedIn } from "./agent-namespace.ts";

const cluster = useSharedCluster();

/** A namespace with two certificates that an agent serves. */
async function serving(options: Parameters<AgentNamespace["start"]>[0] = {}) {
  const world = await AgentNamespace.make(cluster());
  const set = { "web-1": certificateFor("one.test"), "web-2": certificateFor("two.test") };
  for (const [name, certificate] of Object.entries(set)) await world.put(name, certificate);
  const checksum = await world.publish(set);
  const agent = await world.start(options);
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified" }));
  return { world, set, checksum, agent };
}

test("what matches is promoted as a whole, with the rights that the agent declares and no others", async () => {
  const { set, agent } = await serving();
  expect(await servedIn(agent.folder)).toEqual(pairsOf(set));
  expect(await agent.readyz()).toBe(200);
});

test("a half-written batch is not promoted; the rest of it is, as one", async () => {
  const { world, set, agent } = await serving();
  const next = { "web-1": certificateFor("one.test", 2), "web-2": certificateFor("two.test", 2) };
  await world.publish(next);
  await world.put("web-1", next["web-1"]);
  await soon(async () => expect((await agent.status()).differences).toMatchObject([{ direction: "changed", secret: "web-2" }]));
  expect(await servedIn(agent.folder)).toEqual(pairsOf(set));
  await world.put("web-2", next["web-2"]);
  await soon(async () => expect(await servedIn(agent.folder)).toEqual(pairsOf(next)));
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", alarms: [], differences: [] }));
});

test("every Secret that differs is named, with its direction, in status, metrics and log", async () => {
  const { world, set, agent } = await serving();
  await world.publish({ "web-1": certificateFor("one.test", 2), "web-2": set["web-2"], "web-7": certificateFor("seven.test") });
  await world.put("web-3", certificateFor("three.test"));
  await soon(async () => {
    const { differences, ...status } = await agent.status();
    expect(status).toMatchObject({
      state: "holding",
      differenceCounts: { missing: 1, unexpected: 1, changed: 1 },
      alarms: [{ alarm: "Mismatch" }],
    });
    expect(differences.map(({ direction, secret }) => `${direction} ${secret}`)).toEqual(["changed web-1", "unexpected web-3", "missing undefined"]);
  });
  const metrics = await agent.metrics();
  expect(metrics).toContain('keyturn_agent_differences{direction="unexpected"} 1');
  expect(metrics).toContain('keyturn_agent_alarm{alarm="Mismatch"} 1');
  expect(JSON.stringify(agent.logLines)).toContain("web-3 (3-1-");
  expect(await servedIn(agent.folder)).toEqual(pairsOf(set));
});

test("a Lease shows how the agent fares, and goes when the agent is stopped", async () => {
  const { world, agent } = await serving();
  const name = { namespace: world.namespace, name: "keyturn-agent-test" };
  await soon(async () => {
    const lease = await world.cluster.client.get(Lease, name);
    expect(lease?.metadata.annotations).toMatchObject({ "keyturn.io/agent-state": "verified", "keyturn.io/agent-secrets": "2" });
  });
  await agent.stop();
  expect(await world.cluster.client.get(Lease, name)).toBeUndefined();
});
