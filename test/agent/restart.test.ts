// What survives: restarts without an API server, damaged files, commands that fail.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Lease } from "@keyturn/runtime";
import { soon, temporaryFolder, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, onTestFinished, test } from "vitest";
import { startKeyturn } from "../support/keyturn-process.ts";
import { AgentNamespace, type Certificate, certificateFor, keepAll, pairsOf, type RunningAgent, servedIn, startAgent } from "./agent-namespace.ts";
import { defaultLimits } from "../../packages/keyturn/src/controllers/checksum/blast-radius.ts";

const cluster = useSharedCluster();
const rules = { policies: keepAll, staleAfterMs: 600_000, alarmAfterMs: 0, limits: defaultLimits, signedOnly: false };

type Options = NonNullable<Parameters<AgentNamespace["start"]>[0]>;

/** An agent that has served one set and now serves another. */
async function twiceServed(options: Options = {}) {
  const world = await AgentNamespace.make(cluster());
  const first = { "web-1": certificateFor("one.test"), "web-2": certificateFor("two.test") };
  const second = { ...first, "web-1": certificateFor("one.test", 2) };
  await putAll(world, first);
  const agent = await world.start(options);
  await verified(agent);
  await putAll(world, second);
  await soon(async () => expect(await servedIn(agent.folder)).toEqual(pairsOf(second)));
  await verified(agent);
  await soon(async () => expect(await agent.metrics()).toMatch(/^keyturn_agent_verified 1$/m));
  return { world, first, second, agent };
}

async function putAll(world: AgentNamespace, set: Readonly<Record<string, Certificate>>): Promise<void> {
  await world.publish(set);
  for (const [name, certificate] of Object.entries(set)) await world.put(name, certificate);
}

async function verified(agent: RunningAgent): Promise<void> {
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified" }));
}

/** An agent whose API server does not answer. */
function startWithoutServer(world: AgentNamespace, options: Options): Promise<RunningAgent> {
  const credentials = { current: () => Promise.resolve({}) };
  const connection = { server: "https://127.0.0.1:1", credentials, namespace: undefined, source: "test" };
  return startAgent({ namespace: world.namespace, rules, ...options, connect: () => Promise.resolve(connection as never) });
}

test("without any API server, what was verified is served at once", async () => {
  const { world, second, agent } = await twiceServed();
  await agent.stop();
  const restarted = await startWithoutServer(world, { folder: agent.folder });
  expect(await servedIn(agent.folder)).toEqual(pairsOf(second));
  expect(await restarted.readyz()).toBe(200);
  await soon(async () => expect((await restarted.status()).alarms).toMatchObject([{ alarm: "Unreachable" }]));
  expect(await restarted.metrics()).toMatch(/^keyturn_agent_verified 0$/m);
});

test("what has been unverified for too long is not ready, and is served all the same", async () => {
  const { world, second, agent } = await twiceServed();
  await agent.stop();
  const restarted = await startWithoutServer(world, { folder: agent.folder, maxStalenessMs: 1 });
  await soon(async () => expect(await restarted.readyz()).toBe(503));
  expect(Number(/^keyturn_agent_staleness_seconds (\S+)$/m.exec(await restarted.metrics())?.[1])).toBeGreaterThan(0);
  expect(await servedIn(agent.folder)).toEqual(pairsOf(second));
});

test("a file edited while the agent was away: the same file of the snapshot before is served, the newer ones stay, and the gateway is told", async () => {
  const { world, second, agent } = await twiceServed();
  await agent.stop();
  await writeFile(join(agent.folder, "current", "web-2", "tls.key"), "edited");
  const told = join(await temporaryFolder(), "told");
  const notice = { type: "command", words: ["sh", "-c", `echo told >> ${told}`], timeoutMs: 300_000 } as const;
  const restarted = await startWithoutServer(world, { folder: agent.folder, notice });
  expect(await servedIn(agent.folder)).toEqual(pairsOf(second));
  const damaged = { alarm: "Damaged", message: expect.stringContaining("such as web-2") };
  expect((await restarted.status()).alarms).toContainEqual(damaged);
  expect(await readFile(told, "utf8")).toBe("told\n");
});

test("a file edited while the agent runs is mended from the API server", async () => {
  const { second, agent } = await twiceServed({ verifyEveryMs: 500 });
  await writeFile(join(agent.folder, "current", "web-2", "tls.key"), "edited");
  await soon(async () => expect(await servedIn(agent.folder)).toEqual(pairsOf(second)));
  expect(JSON.stringify(agent.logLines)).toContain("promoted files are damaged");
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", alarms: [] }));
});

test("a roll-back is noticed by an agent that was not there when it happened", async () => {
  const { world, first, second, agent } = await twiceServed();
  await agent.stop();
  await world.put("web-1", first["web-1"]);
  const restarted = await world.start({ folder: agent.folder });
  await soon(async () => expect((await restarted.status()).alarms).toMatchObject([{ alarm: "OlderCertificate" }]));
  expect(await servedIn(agent.folder)).toEqual(pairsOf(second));
  // Another certificate is renewed, and the control plane vouches for all that it sees: the older one still stays away.
  const renewed = certificateFor("two.test", 2);
  await world.put("web-2", renewed);
  await world.publish();
  await soon(async () => expect(await servedIn(agent.folder)).toEqual(pairsOf({ ...second, "web-2": renewed })));
  await soon(async () =>
    expect(await restarted.status()).toMatchObject({ state: "verified", alarms: [{ alarm: "OlderCertificate" }], heldCount: 1 }),
  );
  expect(await restarted.metrics()).toContain('keyturn_agent_held{secret="web-1",reason="OlderCertificate"} 1');
  // Somebody means it.
  await world.publish(undefined, { announced: true });
  await soon(async () => expect(await servedIn(agent.folder)).toEqual(pairsOf({ ...first, "web-2": renewed })));
});

test("a command that fails is tried again, also after a restart, until it succeeds; then not again", async () => {
  const world = await AgentNamespace.make(cluster());
  const folder = await temporaryFolder();
  const gate = join(await temporaryFolder(), "gate");
  const runs = `${gate}.runs`;
  const notice = { type: "command", words: ["sh", "-c", `echo run >> ${runs}; test -e ${gate}`], timeoutMs: 300_000 } as const;
  await putAll(world, { "web-1": certificateFor("one.test") });
  const agent = await world.start({ folder, notice });
  await soon(async () => expect((await agent.status()).alarms).toMatchObject([{ alarm: "CommandFailed", message: "exit code 1" }]));
  expect(await agent.status()).toMatchObject({ command: { ok: false, detail: "exit code 1" } });
  await soon(async () => expect((await readFile(runs, "utf8")).split("\n").length).toBeGreaterThan(2));
  await agent.stop();

  await writeFile(gate, "");
  const second = await world.start({ folder, notice });
  await soon(async () => expect(await second.status()).toMatchObject({ state: "verified", alarms: [], command: { ok: true } }));
  await second.stop();
  const count = (await readFile(runs, "utf8")).length;
  const third = await world.start({ folder, notice });
  await verified(third);
  expect((await readFile(runs, "utf8")).length).toBe(count);
});

test("a folder of another namespace is refused", async () => {
  const { agent } = await twiceServed();
  await agent.stop();
  const other = await AgentNamespace.make(cluster());
  await expect(other.start({ folder: agent.folder })).rejects.toThrow(`not ${other.namespace}: give another --dir`);
});

test("nothing of a private key is in log, status, metrics or Lease", async () => {
  const { world, first, second, agent } = await twiceServed();
  await world.put("web-2", { ...certificateFor("two.test", 3), privateKey: first["web-1"].privateKey });
  await soon(async () => expect((await agent.status()).alarms).toMatchObject([{ alarm: "Mismatch" }, { alarm: "BadCertificate" }]));
  const lease = await world.cluster.client.get(Lease, { namespace: world.namespace, name: "keyturn-agent-test" });
  const said = [agent.logLines, await agent.status(), await agent.metrics(), lease, await readFile(join(agent.folder, "status.json"), "utf8")];
  const text = JSON.stringify(said);
  for (const { privateKey } of [...Object.values(first), ...Object.values(second)]) {
    const [, line = ""] = privateKey.split("\n");
    expect(line.length).toBeGreaterThan(20);
    expect(text).not.toContain(line);
  }
});

test("`keyturn agent` does all this as a user starts it", async () => {
  const world = await AgentNamespace.make(cluster());
  const set = { "web-1": certificateFor("one.test") };
  await putAll(world, set);
  const folder = await temporaryFolder();
  const args = ["--namespace", world.namespace, "--dir", folder, "--kubeconfig", world.kubeconfig, "--bind-address", "0", "--on-change", "true"];
  const agent = startKeyturn(["agent", ...args]);
  onTestFinished(() => agent.kill("SIGKILL"));
  await soon(async () => expect(await servedIn(folder)).toEqual(pairsOf(set)));
  await soon(() => expect(agent.output.out).toContain("the gateway was notified"));
  agent.kill("SIGTERM");
  expect(await agent.exit).toBe(0);
  expect(agent.output.err).toBe("");
});

test.each([
  [["--dir", "/tmp/x"], "keyturn: --namespace: name the namespace whose certificates are to be served\n"],
  [["--namespace", "shop"], "keyturn: --dir: name the folder to keep certificates in\n"],
  [["-n", "a", "--dir", "b", "--on-change", "a && b"], "keyturn: --on-change: no shell reads it, so & would not do what it looks like"],
  [["-n", "a", "--dir", "b", "--on-change", "a", "--signal-pid-file", "c"], "keyturn: --on-change and --signal-pid-file: give one of them\n"],
  [["-n", "a", "--dir", "b", "--signal", "LOUD"], 'keyturn: --signal: "LOUD" is no signal\n'],
  [["-n", "a", "--dir", "b", "--on-no-checksum", "ignore"], 'keyturn: --on-no-checksum: "ignore" is not one of keep, promote\n'],
])("wrong usage %j is one line", async (args, message) => {
  const { output, exit } = startKeyturn(["agent", ...args]);
  expect(await exit).toBe(2);
  expect(output.err).toContain(message);
});
