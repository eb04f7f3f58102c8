// A real nginx with handshakes all the time, while the agent is killed at every step of a promotion, and while its disk is full.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { soon, temporaryFolder, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, onTestFinished, test } from "vitest";
import { AgentNamespace, certificateFor } from "./agent-namespace.ts";
import type { KilledAgentSettings } from "./killed-agent.ts";
import { smallDisk } from "./small-disk.ts";
import { nginxCommand } from "./tls-configuration.ts";
import { gatewayFolder, startTlsGateway } from "./tls-gateway.ts";

const cluster = useSharedCluster();
const hosts = { "one.test": "web-1", "two.test": "web-2" };

const setOf = (version: number) => ({ "web-1": certificateFor("one.test", version), "web-2": certificateFor("two.test", version) });
const servedNames = (version: number) => ({ "one.test": `one.test ${version}`, "two.test": `two.test ${version}` });

/** Puts a whole version of the set, announced ahead. */
async function change(world: AgentNamespace, version: number): Promise<void> {
  const set = setOf(version);
  await world.publish(set);
  for (const [name, certificate] of Object.entries(set)) await world.put(name, certificate);
}

/** Runs an agent that kills itself at a step. Resolves to whether it died; an agent that got to the end is ended. */
async function runKilledAgent(settings: KilledAgentSettings, compileCache: string): Promise<boolean> {
  const program = fileURLToPath(new URL("killed-agent.ts", import.meta.url));
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], { stdio: ["ignore", "pipe", "ignore"], env });
  const ended = once(child, "exit");
  onTestFinished(() => void child.kill("SIGKILL"));
  // A line that says so comes when the promotion is over and the gateway was notified.
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes("what is served is what should be")) child.kill("SIGTERM");
  }
  await ended;
  return child.signalCode === "SIGKILL";
}

/** Lets agents of one gateway die, each at the next step, until one finds no such step. */
async function killEverywhere(nextStep: () => number, compileCache: string): Promise<void> {
  const world = await AgentNamespace.make(cluster());
  const folder = await temporaryFolder();
  const gatewayFiles = await gatewayFolder();
  const common = { namespace: world.namespace, folder, kubeconfig: world.kubeconfig, command: nginxCommand(gatewayFiles, "-s", "reload") };
  await change(world, 1);
  const first = await world.start({ folder });
  await soon(async () => expect(await first.status()).toMatchObject({ state: "verified" }));
  await first.stop();
  const gateway = await startTlsGateway(gatewayFiles, folder, hosts);

  let version = 1;
  let killed = true;
  while (killed) {
    version += 1;
    await change(world, version);
    killed = await runKilledAgent({ ...common, killAt: nextStep() }, compileCache);
    const last = gateway.handshakes.length;
    await soon(() => expect(gateway.handshakes.length).toBeGreaterThan(last + 2));
  }
  await gateway.seen(servedNames(version));
  expect(gateway.failures).toEqual([]);
  expect(gateway.mixtures()).toEqual([]);
}

test("an agent that is killed at any step of a promotion never leaves nginx with a mixture", { timeout: 900_000 }, async () => {
  const compileCache = await temporaryFolder();
  let steps = 0;
  const gateways = Array.from({ length: 4 }, () => killEverywhere(() => steps++, compileCache));
  await Promise.all(gateways);
  // Folder, two Secrets with a folder, two files and a flush each, manifest, link, flushes: there were at least that many steps to die at.
  expect(steps - gateways.length).toBeGreaterThan(14);
});

test("on a full disk what was served is served; with space again, the change is", async () => {
  const world = await AgentNamespace.make(cluster());
  const small = await smallDisk();
  const { folder, disk } = small;
  const gatewayFiles = await gatewayFolder();
  await change(world, 1);
  const agent = await world.start({
    folder,
    disk,
    notice: { type: "command", words: nginxCommand(gatewayFiles, "-s", "reload"), timeoutMs: 300_000 },
  });
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified" }));
  const gateway = await startTlsGateway(gatewayFiles, folder, hosts);
  await gateway.seen(servedNames(1));

  await small.fill();
  await change(world, 2);
  await soon(async () => {
    const { alarms, state } = await agent.status();
    expect(state).toBe("promote");
    expect(alarms).toMatchObject([{ alarm: "PromotionFailed", message: expect.stringContaining("ENOSPC") }]);
  });
  await gateway.seen(servedNames(1));
  expect(await agent.readyz()).toBe(200);

  await small.free();
  await gateway.seen(servedNames(2));
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", alarms: [] }));
  expect(gateway.failures).toEqual([]);
  expect(gateway.mixtures()).toEqual([]);
});
