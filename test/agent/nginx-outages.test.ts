// Tengine's promise: a real nginx, handshakes all the time, and everything around it fails. Not one handshake does.
import { rm } from "node:fs/promises";
import { crdOf } from "@keyturn/runtime";
import { soon, temporaryFolder, useCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { clusterFilesIn } from "@keyturn/runtime/testing";
import { SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { AgentNamespace, certificateFor, type RunningAgent } from "./agent-namespace.ts";
import { nginxCommand } from "./tls-configuration.ts";
import { gatewayFolder, startTlsGateway } from "./tls-gateway.ts";

const cluster = useCluster();

const hosts = { "one.test": "web-1", "two.test": "web-2", "three.test": "web-3" };

/** A version of the whole set: every host has a certificate that says so. */
function setOf(version: number) {
  const set = Object.entries(hosts).map(([host, secret]) => [secret, certificateFor(host, version)] as const);
  return Object.fromEntries(set);
}

const servedNames = (version: number): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.keys(hosts).map((host) => [host, `${host} ${version}`]));

test("no handshake fails and no set is mixed, whatever happens to agent, API server and etcd", { timeout: 900_000 }, async () => {
  const world = await AgentNamespace.make(cluster());
  const putAll = async (set: ReturnType<typeof setOf>): Promise<void> => {
    for (const [name, certificate] of Object.entries(set)) await world.put(name, certificate);
  };
  const folder = await temporaryFolder();
  const gatewayFiles = await gatewayFolder();
  const notice = { type: "command", words: nginxCommand(gatewayFiles, "-s", "reload"), timeoutMs: 300_000 } as const;
  // After a loss of etcd no ServiceAccount is left, so this agent is the administrator.
  const startAgent = (): Promise<RunningAgent> => world.start({ folder, notice, pauseMs: 1000, kubeconfig: cluster().adminKubeconfig });
  const stateIs = (agent: RunningAgent, expected: object): Promise<void> => soon(async () => expect(await agent.status()).toMatchObject(expected));

  await putAll(setOf(1));
  await world.publish();
  let agent = await startAgent();
  await stateIs(agent, { state: "verified" });
  const gateway = await startTlsGateway(gatewayFiles, folder, hosts);
  await gateway.seen(servedNames(1));

  // Certificates change; each change passes through a mismatch.
  await putAll(setOf(2));
  await world.publish();
  await gateway.seen(servedNames(2));

  // A batch is announced and half-written when the agent is stopped, started again, and the rest comes.
  const third = setOf(3);
  await world.publish(third);
  const [first, ...rest] = Object.entries(third);
  if (first) await world.put(...first);
  await stateIs(agent, { state: "holding", differenceCounts: { changed: 2 } });
  await agent.stop();
  agent = await startAgent();
  await stateIs(agent, { state: "holding", differenceCounts: { changed: 2 } });
  for (const each of rest) await world.put(...each);
  await gateway.seen(servedNames(3));
  await stateIs(agent, { state: "verified" });

  // The API server stops in good order; an agent that starts without it serves what it has at once.
  await cluster().apiServer.stop();
  await stateIs(agent, { alarms: [{ alarm: "Unreachable" }] });
  await agent.stop();
  agent = await startAgent();
  await stateIs(agent, { state: "waiting", checksum: expect.any(String) });
  expect(await agent.readyz()).toBe(200);
  await cluster().apiServer.start();
  await stateIs(agent, { state: "verified" });

  // etcd freezes, and then the API server: every connection stays open and no watch ends, and still nobody says that anything is verified.
  for (const server of [cluster().etcd, cluster().apiServer]) {
    await server.pause();
    await soon(async () => expect(await agent.metrics()).toMatch(/^keyturn_agent_verified 0$/m));
    await stateIs(agent, { alarms: [{ alarm: "Unreachable" }] });
    server.resume();
    await stateIs(agent, { state: "verified", alarms: [] });
    await soon(async () => expect(await agent.metrics()).toMatch(/^keyturn_agent_verified 1$/m));
  }

  // Both are killed while a batch is being written.
  const fourth = setOf(4);
  await world.publish(fourth);
  const [early, ...late] = Object.entries(fourth);
  if (early) await world.put(...early);
  await cluster().apiServer.kill();
  await cluster().etcd.kill();
  await stateIs(agent, { alarms: expect.arrayContaining([expect.objectContaining({ alarm: "Unreachable" })]) });
  await cluster().etcd.start();
  await cluster().apiServer.start();
  for (const each of late) await world.put(...each);
  await gateway.seen(servedNames(4));
  await stateIs(agent, { state: "verified" });

  // etcd comes back empty: no Secret, no checksum, no CRD, no namespace.
  await cluster().apiServer.kill();
  await cluster().etcd.kill();
  await rm(clusterFilesIn(cluster().folder).etcdData, { recursive: true });
  await cluster().etcd.start();
  await cluster().apiServer.start();
  await stateIs(agent, { state: "holding", secrets: { live: 0, promoted: 3 }, alarms: [{ alarm: "MissingCrd" }] });
  await agent.stop();
  agent = await startAgent();
  await stateIs(agent, { state: "holding", secrets: { live: 0, promoted: 3 }, alarms: [{ alarm: "MissingCrd" }] });
  await cluster().apply(crdOf(SecretCheckSum));
  await cluster().apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: world.namespace } });
  await stateIs(agent, { state: "holding", alarms: [{ alarm: "NoChecksum" }] });
  await gateway.seen(servedNames(4));

  // And everything is made anew.
  await putAll(setOf(5));
  await world.publish();
  await gateway.seen(servedNames(5));
  await stateIs(agent, { state: "verified", alarms: [] });

  await soon(() => expect(gateway.handshakes.length).toBeGreaterThan(500));
  expect(gateway.failures).toEqual([]);
  expect(gateway.mixtures()).toEqual([]);
});
