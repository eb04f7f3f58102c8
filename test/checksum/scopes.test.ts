// Wider scopes on a real API server: one checksum over several namespaces, as Tengine computes it by default, and an agent that serves all of them.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type KubeObject, loadConfig, Namespace, Secret } from "@keyturn/runtime";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { defaultLimits } from "../../packages/keyturn/src/controllers/checksum/blast-radius.ts";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { secretSelection } from "../../packages/keyturn/src/controllers/checksum/member-kind.ts";
import type { ScopeRule } from "../../packages/keyturn/src/controllers/checksum/scopes.ts";
import { secretData } from "../../packages/keyturn/test/certificates.ts";
import { runKeyturn } from "../support/keyturn-process.ts";
import { keepAll, type RunningAgent, startAgent } from "../agent/agent-namespace.ts";
import { startTengineReader } from "./tengine-reader.ts";
import { certificate, VerifiedNamespace, verifiedNamespace } from "./verified-namespace.ts";

const cluster = useCluster();

/** Two namespaces that ask for checksums, beside the one in which they are published. */
async function labelledNamespaces(labels: Readonly<Record<string, string>> = {}): Promise<readonly [string, string]> {
  const names = [await cluster().namespace("one"), await cluster().namespace("two")] as const;
  for (const name of names)
    await cluster().client.mergePatch(Namespace, { name }, { metadata: { labels: { "keyturn.io/checksum": "enabled", ...labels } } });
  return names;
}

function secretOf(
  namespace: string,
  name: string,
  version: number,
  index: number,
): KubeObject & { readonly apiVersion: string; readonly kind: string; readonly type: string; readonly data: Readonly<Record<string, string>> } {
  const { certificate: chain, privateKey } = certificate(index);
  const metadata = { namespace, name, annotations: { [defaultVersionAnnotation]: String(version) } };
  return { apiVersion: "v1", kind: "Secret", metadata, type: "kubernetes.io/tls", data: secretData(chain, privateKey) };
}

async function put(namespace: string, name: string, version: number, index: number): Promise<void> {
  await cluster().apply(secretOf(namespace, name, version, index));
}

test("scope all: Tengine with its flags' defaults passes, and an agent serves every namespace, files by namespace", async () => {
  await using place = await verifiedNamespace(cluster(), "gateways");
  const home = place.namespace;
  const [one, two] = await labelledNamespaces();
  using reader = await startTengineReader(cluster());
  await place.startClusterOperator({ "checksum.scope": "all", "checksum.publish-in": home });
  await put(one, "shop-1", 1, 0);
  await put(two, "bank-2", 1, 1);
  await place.published(["1-1", "2-1"]);
  await soon(() => expect(reader.check()).toBe("pass"));

  const agent = await startFleetAgent(home, { type: "all", publishIn: home });
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", secrets: { promoted: 2 } }));
  expect((await readdir(join(agent.folder, "current"))).toSorted()).toEqual(["manifest.json", one, two].toSorted());
  expect(await readFile(join(agent.folder, "current", two, "bank-2", "tls.crt"), "utf8")).toBe(certificate(1).certificate);

  // The commands know the scope: from any of its namespaces, all of it.
  const scopeFlags = ["--kubeconfig", cluster().adminKubeconfig, "--checksum.scope", "all", "--checksum.publish-in", home];
  const [{ metadata: newest } = expect.fail("nothing is published")] = await place.checksums();
  expect((await runKeyturn("diff", "-n", one, ...scopeFlags)).out).toContain(`2 Secrets, exactly as checksum ${newest.name} says`);
  const batch = join(agent.folder, "batch.yaml");
  await writeFile(batch, [secretOf(one, "shop-1", 2, 3), secretOf(two, "bank-2", 2, 4)].map((each) => JSON.stringify(each)).join("\n---\n"));
  const announced = await runKeyturn("checksum", "announce", "-n", one, "-f", batch, ...scopeFlags);
  expect(announced).toMatchObject({ code: 0, out: expect.stringContaining(`in ${home}: `) });
  await put(one, "shop-1", 2, 3);
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "holding", alarms: [] }));
  await put(two, "bank-2", 2, 4);
  await place.published(["1-2", "2-2"]);
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", secrets: { promoted: 2 } }));

  // The same number in another namespace is told about, and counts on both sides.
  await put(two, "club-1", 7, 2);
  const { metadata } = await place.published(["1-2", "1-7", "2-2"]);
  await soon(async () => {
    const [newest] = await place.checksums();
    expect(newest?.status?.problems).toEqual([{ name: `${two}/club-1`, reason: "DuplicateNumber" }]);
  });
  await soon(() => expect(reader.check()).toBe("pass"));
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", secrets: { promoted: 3 } }));

  // A namespace that is no longer chosen leaves the scope.
  await cluster().client.delete(Secret, { namespace: two, name: "club-1" });
  await cluster().client.mergePatch(Namespace, { name: one }, { metadata: { labels: { "keyturn.io/checksum": null } } });
  await place.published(["2-2"]);
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", secrets: { promoted: 1 } }));
  expect(metadata.namespace).toBe(home);
});

test("scope by label: namespaces with the same value are one", async () => {
  await using place = await verifiedNamespace(cluster(), "fleets");
  const [one, two] = await labelledNamespaces({ fleet: "east" });
  await place.startClusterOperator({ "checksum.scope": "fleet", "checksum.keep-for": "1s" });
  await put(one, "shop-1", 1, 0);
  await put(two, "bank-2", 1, 1);
  const [home = ""] = [one, two].toSorted();
  const first = new VerifiedNamespace(cluster(), home, "");
  await first.published(["1-1", "2-1"]);
  const agent = await startFleetAgent(home, { type: "label", key: "fleet" });
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", secrets: { promoted: 2 } }));

  // A namespace that comes first by name joins: the scope is published there, what was published before goes, and the agent says what to do.
  const earlier = await cluster().namespace("earlier");
  await put(earlier, "club-3", 1, 2);
  await cluster().client.mergePatch(Namespace, { name: earlier }, { metadata: { labels: { "keyturn.io/checksum": "enabled", fleet: "east" } } });
  await new VerifiedNamespace(cluster(), earlier, "").published(["1-1", "2-1", "3-1"]);
  const alarm = { alarm: "Unreachable", message: expect.stringContaining(`no checksum of a scope is published in ${home} (any more)`) };
  await soon(async () => expect(await agent.status()).toMatchObject({ alarms: [alarm], secrets: { promoted: 2 } }));
  await soon(async () => expect(await first.checksums()).toEqual([]));

  // Checksums in namespaces that belong to no scope are compared with what is there.
  await cluster().client.mergePatch(Namespace, { name: earlier }, { metadata: { labels: { "keyturn.io/checksum": null } } });
  const { code, out } = await runKeyturn("diff", "-A", "--kubeconfig", cluster().adminKubeconfig, "--checksum.scope", "fleet");
  expect([code, out]).toEqual([1, expect.stringContaining(`namespace ${earlier}: 2 Secrets differ from checksum`)]);

  // A namespace on its way out, which takes for ever where something hinders it, belongs to no scope, for operator, agents and commands alike.
  await cluster().client.mergePatch(Namespace, { name: earlier }, { metadata: { labels: { "keyturn.io/checksum": "enabled" } } });
  await soon(async () => expect(await agent.status()).toMatchObject({ alarms: [alarm] }));
  await cluster().client.delete(Namespace, { name: earlier });
  await first.published(["1-1", "2-1"]);
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", alarms: [] }));
  const here = await runKeyturn("diff", "-n", one, "--kubeconfig", cluster().adminKubeconfig, "--checksum.scope", "fleet");
  expect([here.code, here.out]).toEqual([0, expect.stringContaining("2 Secrets, exactly as checksum")]);
});

/** An agent that serves a scope of labelled namespaces. */
function startFleetAgent(home: string, rule: ScopeRule): Promise<RunningAgent> {
  return startAgent({
    namespace: home,
    scopeChoice: { choice: { type: "labelled", labels: "keyturn.io/checksum=enabled" }, rule },
    members: { rules: { versionAnnotations: [defaultVersionAnnotation] }, selection: secretSelection("tls", undefined) },
    rules: { policies: keepAll, staleAfterMs: 600_000, alarmAfterMs: 0, limits: defaultLimits, signedOnly: false },
    connect: () => loadConfig({ kubeconfig: cluster().adminKubeconfig, env: {} }),
  });
}
