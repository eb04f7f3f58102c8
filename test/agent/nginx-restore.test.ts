// A real nginx and handshakes all the time, while etcd is put back to a backup under a running operator and agent: what is newer than the backup stays served
// until somebody says what is meant, and everything else goes on.
import { cp, rm } from "node:fs/promises";
import { Secret } from "@keyturn/runtime";
import { clusterFilesIn } from "@keyturn/runtime/testing";
import { soon, temporaryFolder, useCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { verifiedNamespace } from "../checksum/verified-namespace.ts";
import { runKeyturn } from "../support/keyturn-process.ts";
import { AgentNamespace, certificateFor, type RunningAgent } from "./agent-namespace.ts";
import { nginxCommand } from "./tls-configuration.ts";
import { gatewayFolder, startTlsGateway } from "./tls-gateway.ts";

const cluster = useCluster();
const hosts = { "one.test": "web-1", "two.test": "web-2", "three.test": "web-3", "four.test": "web-4", "five.test": "web-5" };
type Host = keyof typeof hosts;

/** Takes both servers down, does something to etcd's data, and starts them again. */
async function withEtcdDown(work: (data: string) => Promise<void>): Promise<void> {
  await cluster().apiServer.kill();
  await cluster().etcd.kill();
  await work(clusterFilesIn(cluster().folder).etcdData);
  await cluster().etcd.start();
  await cluster().apiServer.start();
}

test("etcd is restored from a backup", { timeout: 900_000 }, async () => {
  await using place = await verifiedNamespace(cluster(), "restored");
  const world = await AgentNamespace.in(cluster(), place.namespace);
  await place.startOperator();
  const [folder, gatewayFiles, backup] = [await temporaryFolder(), await gatewayFolder(), await temporaryFolder()];
  const notice = { type: "command", words: nginxCommand(gatewayFiles, "-s", "reload"), timeoutMs: 300_000 } as const;
  const put = (host: Host, version: number, name = version): Promise<void> => world.put(hosts[host], { ...certificateFor(host, name), version });
  const stateIs = (agent: RunningAgent, expected: object): Promise<void> => soon(async () => expect(await agent.status()).toMatchObject(expected));
  for (const host of ["one.test", "two.test", "three.test", "four.test"] as const) await put(host, 1);
  await place.published(["1-1", "2-1", "3-1", "4-1"]);
  let agent = await world.start({ folder, notice, pauseMs: 500 });
  await stateIs(agent, { state: "verified", secrets: { promoted: 4 } });

  await withEtcdDown((data) => cp(data, backup, { recursive: true }));

  // After the backup one is renewed, another under the same version, and one comes.
  await put("one.test", 2);
  await put("two.test", 1, 2);
  await put("five.test", 1);
  await place.published(["1-2", "2-1", "3-1", "4-1", "5-1"]);
  await stateIs(agent, { state: "verified", secrets: { promoted: 5 } });
  const gateway = await startTlsGateway(gatewayFiles, folder, hosts);
  await gateway.seen({ "one.test": "one.test 2", "two.test": "two.test 2", "five.test": "five.test 1" });

  const restoredFrom = gateway.handshakes.length;
  await withEtcdDown(async (data) => {
    await rm(data, { recursive: true });
    await cp(backup, data, { recursive: true });
  });
  expect(await cluster().client.get(Secret, { namespace: place.namespace, name: "web-5" })).toBeUndefined();
  // The set as a whole is a roll-back, unless the operator has vouched for it meanwhile: an API server that was not restarted may show restored Secrets beside
  // the checksums from before. The certificates are older in any case.
  await stateIs(agent, {
    heldCount: 3,
    secrets: { promoted: 5 },
    alarms: expect.arrayContaining([expect.objectContaining({ alarm: "OlderCertificate" })]),
  });

  // Renewals go on, for an agent that was there and for one that is started afterwards.
  const newer = { "one.test": "one.test 2", "two.test": "two.test 2", "five.test": "five.test 1" };
  await put("three.test", 2);
  await gateway.seen({ ...newer, "three.test": "three.test 2" });
  await stateIs(agent, { state: "verified", heldCount: 3, secrets: { promoted: 5 }, alarms: [{ alarm: "OlderCertificate" }] });
  await agent.stop();
  agent = await world.start({ folder, notice, pauseMs: 500 });
  await put("four.test", 2);
  await gateway.seen({ ...newer, "four.test": "four.test 2" });

  // Those that went back are renewed; the one that was lost stays until somebody writes it again, or says that it goes.
  await put("one.test", 3);
  await put("two.test", 2, 3);
  await gateway.seen({ "one.test": "one.test 3", "two.test": "two.test 3", "five.test": "five.test 1" });
  await stateIs(agent, { state: "verified", heldCount: 1, secrets: { promoted: 5 }, alarms: [{ alarm: "OlderCertificate" }] });
  expect(gateway.handshakes.slice(restoredFrom).filter(({ certificate }) => ["one.test 1", "two.test 1"].includes(certificate))).toEqual([]);
  await put("five.test", 2);
  await gateway.seen({ "five.test": "five.test 2" });
  await stateIs(agent, { state: "verified", heldCount: 0, alarms: [] });

  // Once more, and this time the backup is what is meant.
  await withEtcdDown(async (data) => {
    await rm(data, { recursive: true });
    await cp(backup, data, { recursive: true });
  });
  await stateIs(agent, { state: "holding", secrets: { promoted: 5 }, heldCount: 5 });
  expect(await runKeyturn("checksum", "allow", "--wait", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig)).toMatchObject({
    code: 0,
  });
  // nginx has a host whose certificate is gone now, refuses to read that, and goes on with what it has read before.
  await stateIs(agent, { state: "verified", heldCount: 0, secrets: { promoted: 4 }, alarms: [{ alarm: "CommandFailed" }] });
  expect(gateway.failures).toEqual([]);
});
