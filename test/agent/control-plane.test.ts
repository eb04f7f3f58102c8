// Both halves together: the checksum controller publishes, the agent verifies.
import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Lease } from "@keyturn/runtime";
import { soon, temporaryFolder, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { runProgram } from "../../packages/keyturn/src/cli/program.ts";
import { readPublicKeys } from "../../packages/keyturn/src/controllers/checksum/announcement.ts";
import { defaultLimits } from "../../packages/keyturn/src/controllers/checksum/blast-radius.ts";
import { verifiedNamespace } from "../checksum/verified-namespace.ts";
import { AgentNamespace, type Certificate, certificateFor, keepAll, pairsOf, servedIn } from "./agent-namespace.ts";

const cluster = useSharedCluster();

test("every change that users make is adopted, as the control plane publishes it", async () => {
  await using controlPlane = await verifiedNamespace(cluster(), "both-halves");
  await controlPlane.startOperator();
  const world = await AgentNamespace.in(cluster(), controlPlane.namespace);
  const agent = await world.start();
  const adopted = async (set: Readonly<Record<string, Certificate>>): Promise<void> => {
    await soon(async () => expect(await servedIn(agent.folder)).toEqual(pairsOf(set)));
    await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", alarms: [] }));
  };

  const [one, two] = [certificateFor("one.test"), certificateFor("two.test")];
  await world.put("web-1", one);
  await world.put("web-2", two);
  await adopted({ "web-1": one, "web-2": two });

  const renewed = certificateFor("one.test", 2);
  await world.put("web-1", renewed);
  await adopted({ "web-1": renewed, "web-2": two });

  await world.remove("web-2");
  await adopted({ "web-1": renewed });

  // Back to what was before: the older certificate waits until somebody means it.
  await world.put("web-1", one);
  await world.put("web-2", two);
  await soon(async () => expect(await servedIn(agent.folder)).toEqual(pairsOf({ "web-1": renewed, "web-2": two })));
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", alarms: [{ alarm: "OlderCertificate" }] }));
  expect(await allow(world.namespace)).toBe(0);
  await adopted({ "web-1": one, "web-2": two });
});

test("an agent with keys adopts what was signed and nothing else, whatever operator and API server say", async () => {
  await using controlPlane = await verifiedNamespace(cluster(), "signed-agent");
  await controlPlane.startOperator();
  const world = await AgentNamespace.in(cluster(), controlPlane.namespace);
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const signing = join(await temporaryFolder(), "announce.key");
  await writeFile(signing, privateKey.export({ format: "pem", type: "pkcs8" }));
  const keys = readPublicKeys(publicKey.export({ format: "pem", type: "spki" }).toString());
  const rules = { policies: keepAll, staleAfterMs: 600_000, alarmAfterMs: 0, limits: defaultLimits, signedOnly: true };
  const set = { "web-1": certificateFor("one.test"), "web-2": certificateFor("two.test") };
  for (const [name, certificate] of Object.entries(set)) await world.put(name, certificate);
  await controlPlane.published(["1-1", "2-1"]);
  const agent = await world.start({ keys, rules });
  await soon(async () => expect(await agent.status()).toMatchObject({ heldCount: 2, secrets: { promoted: 0 } }));

  expect(await allow(world.namespace, "--sign", signing)).toBe(0);
  await soon(async () => expect(await servedIn(agent.folder)).toEqual(pairsOf(set)));
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", alarms: [] }));

  // A certificate that nobody signed, another one gone: the operator publishes, the agent stays.
  const renewed = certificateFor("one.test", 2);
  await world.put("web-1", renewed);
  await world.remove("web-2");
  await controlPlane.published(["1-2"]);
  await soon(async () => expect(await agent.status()).toMatchObject({ alarms: [{ alarm: "Unannounced" }], heldCount: 2 }));
  expect(await servedIn(agent.folder)).toEqual(pairsOf(set));
});

/** Runs `keyturn checksum allow` as an administrator does. */
async function allow(namespace: string, ...args: readonly string[]): Promise<number> {
  const silent = { out: () => undefined, err: () => undefined, height: () => undefined, signal: new AbortController().signal };
  return runProgram(["checksum", "allow", "-n", namespace, "--kubeconfig", cluster().adminKubeconfig, "--wait", ...args], {
    environment: {},
    ...silent,
  });
}

test("a Lease of the agent's name that is somebody else's is left alone", async () => {
  const world = await AgentNamespace.make(cluster());
  const name = { namespace: world.namespace, name: "keyturn-agent-test" };
  await world.cluster.client.create(Lease, { metadata: name, spec: { holderIdentity: "somebody" } });
  const agent = await world.start();
  await soon(() => expect(JSON.stringify(agent.logLines)).toContain("it is left alone"));
  await agent.stop();
  expect(await world.cluster.client.get(Lease, name)).toMatchObject({ spec: { holderIdentity: "somebody" } });
});
