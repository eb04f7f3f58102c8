// A real nginx, the operator, an agent, handshakes all the time, and one fault after the other in single certificates, in the whole set and on the disk:
// no handshake fails, and none gets a certificate that nobody meant.
import { generateKeyPairSync } from "node:crypto";
import { appendFile, chmod, cp, readdir, readFile, rename, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Secret } from "@keyturn/runtime";
import { issueCertificate } from "@keyturn/runtime/testing";
import { soon, temporaryFolder, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { readPublicKeys } from "../../packages/keyturn/src/controllers/checksum/announcement.ts";
import { SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { defaultLimits } from "../../packages/keyturn/src/controllers/checksum/blast-radius.ts";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { runKeyturn } from "../support/keyturn-process.ts";
import { verifiedNamespace } from "../checksum/verified-namespace.ts";
import { AgentNamespace, authority, type Certificate, certificateFor, keepAll, type RunningAgent, servedIn } from "./agent-namespace.ts";
import { nginxCommand } from "./tls-configuration.ts";
import { gatewayFolder, startTlsGateway } from "./tls-gateway.ts";

const cluster = useSharedCluster();
const hosts = { "one.test": "web-1", "two.test": "web-2", "three.test": "web-3", "four.test": "web-4", "five.test": "web-5" };
type Host = keyof typeof hosts;
const allHosts = Object.keys(hosts) as readonly Host[];

test("whatever goes wrong, only certificates that were meant are served", { timeout: 900_000 }, async () => {
  await using place = await verifiedNamespace(cluster(), "faults");
  const world = await AgentNamespace.in(cluster(), place.namespace);
  const operator = await place.startOperator();
  const [folder, gatewayFiles] = [await temporaryFolder(), await gatewayFolder()];
  const notice = { type: "command", words: nginxCommand(gatewayFiles, "-s", "reload"), timeoutMs: 300_000 } as const;
  const start = (): Promise<RunningAgent> => world.start({ folder, notice, pauseMs: 500 });
  const put = (host: Host, version: number): Promise<void> => world.put(hosts[host], certificateFor(host, version));
  const stateIs = (agent: RunningAgent, expected: object): Promise<void> => soon(async () => expect(await agent.status()).toMatchObject(expected));

  for (const host of allHosts) await put(host, 1);
  let agent = await start();
  await stateIs(agent, { state: "verified", secrets: { promoted: 5 } });
  const gateway = await startTlsGateway(gatewayFiles, folder, hosts);
  await gateway.seen({ "one.test": "one.test 1", "five.test": "five.test 1" });

  // A key that is not the certificate's, a version that is lost, a certificate that has expired, and another certificate renewed meanwhile.
  await world.put("web-1", { ...certificateFor("one.test", 666), privateKey: certificateFor("one.test", 667).privateKey });
  await cluster().client.mergePatch(
    Secret,
    { namespace: place.namespace, name: "web-2" },
    { metadata: { annotations: { [defaultVersionAnnotation]: null } } },
  );
  const hourMs = 3_600_000;
  const expired = { usage: "server", commonName: "four.test 669", hosts: ["four.test"], notBeforeInMs: -2 * hourMs, notAfterInMs: -hourMs } as const;
  await world.put("web-4", { ...issueCertificate(authority, expired), version: 2 });
  await put("three.test", 2);
  await gateway.seen({ "one.test": "one.test 1", "two.test": "two.test 1", "three.test": "three.test 2", "four.test": "four.test 1" });
  const alarms = [{ alarm: "BadCertificate" }, { alarm: "LeftOut" }, { alarm: "InvalidDates" }];
  await stateIs(agent, { state: "verified", heldCount: 3, alarms });
  for (const host of ["one.test", "two.test", "four.test"] as const) await put(host, 3);
  await gateway.seen({ "one.test": "one.test 3", "two.test": "two.test 3", "four.test": "four.test 3" });
  await stateIs(agent, { state: "verified", alarms: [] });

  // Four of five are deleted by mistake, and written again.
  for (const host of allHosts.slice(1)) await world.remove(hosts[host]);
  await soon(async () => expect(await operator.metrics()).toMatch(/keyturn_checksum_held\{kind="SecretCheckSum",.*\} 1/));
  await gateway.seen({ "two.test": "two.test 3", "five.test": "five.test 1" });
  for (const host of allHosts.slice(1)) await put(host, 4);
  await gateway.seen({ "two.test": "two.test 4", "five.test": "five.test 4" });
  await stateIs(agent, { state: "verified", alarms: [] });

  // An old certificate comes back, as from a backup, and another one is renewed. Then somebody means it.
  await world.put("web-1", certificateFor("one.test", 2));
  await put("two.test", 5);
  await gateway.seen({ "one.test": "one.test 3", "two.test": "two.test 5" });
  await stateIs(agent, { state: "verified", alarms: [{ alarm: "OlderCertificate" }] });
  expect(gateway.handshakes.some(({ certificate }) => certificate === "one.test 2")).toBe(false);
  await put("one.test", 6);
  await gateway.seen({ "one.test": "one.test 6" });

  // Texts that no certificate is, in a Secret among the others and in a namespace that nobody chose; a CA that cannot be read.
  const endless = { certificate: `-----BEGIN CERTIFICATE-----${"\n".repeat(8000)}`, privateKey: "-----BEGIN PRIVATE KEY-----", version: 1 };
  await world.put("web-9", endless);
  await (await AgentNamespace.make(cluster(), "elsewhere")).put("web-9", endless);
  await cluster().client.mergePatch(Secret, { namespace: place.namespace, name: "web-4" }, { data: { "ca.crt": "Y2E=" } });
  await put("two.test", 6);
  await gateway.seen({ "two.test": "two.test 6", "four.test": "four.test 4" });
  await stateIs(agent, { state: "verified", heldCount: 1, alarms: [{ alarm: "BadCertificate" }] });
  await world.remove("web-9");
  await cluster().client.mergePatch(Secret, { namespace: place.namespace, name: "web-4" }, { data: { "ca.crt": null } });
  await stateIs(agent, { state: "verified", alarms: [] });

  // Two announce at the same time, the second when the batch of the first is half-written: neither is adopted before that is whole.
  const batches = {
    first: { "web-1": certificateFor("one.test", 8), "web-2": certificateFor("two.test", 8) },
    second: { "web-3": certificateFor("three.test", 8) },
  };
  const access = ["--kubeconfig", cluster().adminKubeconfig, "-n", place.namespace];
  const announce = async (batch: Readonly<Record<string, Certificate>>, ...flags: readonly string[]): Promise<void> => {
    const file = join(await temporaryFolder(), "batch.json");
    await writeFile(
      file,
      Object.entries(batch)
        .map(([name, each]) => JSON.stringify(world.secretOf(name, each)))
        .join("\n---\n"),
    );
    await soon(async () => expect(await runKeyturn("checksum", "announce", "-f", file, ...flags, ...access)).toMatchObject({ code: 0 }));
  };
  await announce(batches.first);
  await world.put("web-1", batches.first["web-1"]);
  await announce(batches.second);
  await world.put("web-3", batches.second["web-3"]);
  await soon(async () => expect(await operator.metrics()).toMatch(/keyturn_checksum_awaited\{kind="SecretCheckSum",.*\} 1/));
  await stateIs(agent, { state: "holding", alarms: [], differenceCounts: { changed: expect.any(Number) } });
  await gateway.seen({ "one.test": "one.test 6", "three.test": "three.test 4" });
  expect(gateway.handshakes.some(({ certificate }) => certificate === "one.test 8" || certificate === "three.test 8")).toBe(false);
  await world.put("web-2", batches.first["web-2"]);
  await gateway.seen({ "one.test": "one.test 8", "two.test": "two.test 8", "three.test": "three.test 8" });
  await stateIs(agent, { state: "verified", alarms: [] });

  // The disk is damaged while the agent is away and no API server answers: what is whole stays as it is, and the newest set stays the newest.
  const unreachable = join(await temporaryFolder(), "kubeconfig");
  await writeFile(
    unreachable,
    (await readFile(world.kubeconfig, "utf8")).replace(/"?server"?: *"?https:[^",\n]*"?/, (server) =>
      server.replace(/https:[^",\n]*/, "https://127.0.0.1:9"),
    ),
  );
  const offline: readonly (() => Promise<unknown>)[] = [
    () => appendFile(join(folder, "current", "web-5", "tls.crt"), "x"),
    () => truncate(join(folder, "current", "manifest.json"), 100),
    async () => {
      const [older = ""] = (await readdir(join(folder, "generations"))).toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
      await cp(join(folder, "generations", older), join(folder, "generations", older.replace(/^\d+/, "999")), { recursive: true });
      await rm(join(folder, "current"));
    },
  ];
  for (const damage of offline) {
    const served = await servedIn(folder);
    await agent.stop();
    await damage();
    agent = await world.start({ folder, notice, pauseMs: 500, kubeconfig: unreachable });
    await stateIs(agent, { alarms: expect.arrayContaining([expect.objectContaining({ alarm: "Unreachable" })]) });
    expect(await servedIn(folder)).toEqual(served);
    await agent.stop();
    agent = await start();
    await stateIs(agent, { state: "verified", alarms: [] });
  }

  // The disk is damaged while the agent is away: a certificate is edited, another torn, a key opened to all, the manifest cut off, `current` a folder.
  const damages: readonly (() => Promise<unknown>)[] = [
    () => appendFile(join(folder, "current", "web-3", "tls.crt"), "x"),
    () => truncate(join(folder, "current", "web-4", "tls.key"), 10),
    () => chmod(join(folder, "current", "web-5", "tls.key"), 0o644),
    () => truncate(join(folder, "current", "manifest.json"), 100),
    () => writeFile(join(folder, "current", "web-3", "tls.crt"), certificateFor("three.test", 668).certificate),
    async () => {
      const [elsewhere, planted] = [await temporaryFolder(), `9999-${"0".repeat(32)}`];
      await writeFile(join(elsewhere, "manifest.json"), "planted");
      await symlink(elsewhere, join(folder, "generations", planted));
      await chmod(folder, 0o777);
    },
    async () => {
      await cp(join(folder, "current"), join(folder, "copy"), { recursive: true, dereference: true });
      await rm(join(folder, "current"));
      await rename(join(folder, "copy"), join(folder, "current"));
    },
  ];
  for (const [index, damage] of damages.entries()) {
    await agent.stop();
    await damage();
    agent = await start();
    await put("two.test", 9 + index);
    await gateway.seen({ "two.test": `two.test ${9 + index}`, "three.test": "three.test 8" });
    await stateIs(agent, { state: "verified", alarms: [] });
  }
  expect((await stat(join(folder, "current", "web-5", "tls.key"))).mode & 0o777).toBe(0o600);
  expect((await stat(folder)).mode & 0o022).toBe(0);

  // The command that notifies nginx hangs once, and what it started traps the request to end: it is ended with that, and run again.
  const trap = join(gatewayFiles, "trap");
  const reload = nginxCommand(gatewayFiles, "-s", "reload").join(" ");
  // The trap is there until it is known who is in it: a machine that is busy may take longer than the deadline to get so far.
  const hanging = `if test -e ${trap}; then (trap "" TERM; while :; do sleep 0.1; done) & echo $! > ${trap}.pid; rm ${trap}; wait; fi; ${reload}`;
  const trapped = { type: "command", words: ["sh", "-c", hanging], timeoutMs: 2000 } as const;
  await agent.stop();
  await writeFile(trap, "");
  agent = await world.start({ folder, notice: trapped, pauseMs: 500 });
  await put("two.test", 30);
  await gateway.seen({ "two.test": "two.test 30" });
  const trapping = (await readFile(`${trap}.pid`, "utf8")).trim();
  // It is gone when the machine's first process has taken note of its end.
  await soon(() => expect(stat(`/proc/${trapping}`)).rejects.toThrow("ENOENT"));

  // From here on only what was signed counts. Somebody else has the cluster: he writes a certificate that the operator vouches for, deletes another, and brings
  // an earlier one back together with the word that announced it, while the later word is gone.
  await agent.stop();
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const signing = join(gatewayFiles, "announce.key");
  await writeFile(signing, privateKey.export({ format: "pem", type: "pkcs8" }));
  const keys = readPublicKeys(publicKey.export({ format: "pem", type: "spki" }).toString());
  const rules = { policies: keepAll, staleAfterMs: 600_000, alarmAfterMs: 0, limits: defaultLimits, signedOnly: true };
  agent = await world.start({ folder, notice, pauseMs: 500, keys, rules });
  await soon(async () => expect(await runKeyturn("checksum", "allow", "--sign", signing, "--wait", ...access)).toMatchObject({ code: 0 }));
  await stateIs(agent, { state: "verified", alarms: [] });
  const earlier = { "web-3": certificateFor("three.test", 31) };
  const later = { "web-3": certificateFor("three.test", 32) };
  await announce(earlier, "--sign", signing);
  await world.put("web-3", earlier["web-3"]);
  await gateway.seen({ "three.test": "three.test 31" });
  const words = (await cluster().client.list(SecretCheckSum, { namespace: place.namespace })).items;
  await announce(later, "--sign", signing);
  await world.put("web-3", later["web-3"]);
  await gateway.seen({ "three.test": "three.test 32" });
  await stateIs(agent, { state: "verified", alarms: [] });
  const earlierWorkers = new Set(gateway.handshakes.map(({ worker }) => worker));
  await operator.stop();
  await cluster().client.deleteCollection(SecretCheckSum, { namespace: place.namespace });
  for (const {
    metadata: { name },
    spec,
  } of words)
    await cluster().client.create(SecretCheckSum, { metadata: { namespace: place.namespace, name }, spec });
  await world.put("web-3", earlier["web-3"]);
  await put("one.test", 670);
  await world.remove(hosts["five.test"]);
  await world.publish();
  await stateIs(agent, { heldCount: 3, alarms: [{ alarm: "Unannounced" }] });
  await put("two.test", 671);
  await gateway.seen({ "one.test": "one.test 8", "two.test": "two.test 30", "three.test": "three.test 32", "five.test": "five.test 4" });
  // A worker that nginx is about to end may still answer with what it read when it started.
  const later31 = gateway.handshakes.filter(({ certificate, worker }) => certificate === "three.test 31" && !earlierWorkers.has(worker));
  expect(later31).toEqual([]);

  await soon(() => expect(gateway.handshakes.length).toBeGreaterThan(2000));
  expect(gateway.failures).toEqual([]);
  const unmeant = new Set(["one.test 2", "one.test 666", "one.test 667", "three.test 668", "four.test 669", "one.test 670", "two.test 671"]);
  expect(gateway.handshakes.filter(({ certificate }) => unmeant.has(certificate))).toEqual([]);
});
