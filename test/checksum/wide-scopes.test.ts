// What protects a single namespace protects a wider scope too, and whoever has a namespace of it can use every command: on a real API server.
import { generateKeyPairSync } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type KubeObject, loadConfig, Namespace, type PolicyRule, policyRules, Secret } from "@keyturn/runtime";
import { soon, temporaryFolder, useCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { agentAccess, agentScopeAccess } from "../../packages/keyturn/src/agent/run-agent.ts";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { readPublicKeys } from "../../packages/keyturn/src/controllers/checksum/announcement.ts";
import { defaultLimits } from "../../packages/keyturn/src/controllers/checksum/blast-radius.ts";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { secretSelection } from "../../packages/keyturn/src/controllers/checksum/member-kind.ts";
import type { ScopeChoice } from "../../packages/keyturn/src/controllers/checksum/scopes.ts";
import { jwksFeature } from "../../packages/keyturn/src/controllers/jwks/feature.ts";
import { secretData } from "../../packages/keyturn/test/certificates.ts";
import { keepAll, type RunningAgent, startAgent } from "../agent/agent-namespace.ts";
import { runKeyturn } from "../support/keyturn-process.ts";
import { certificate, VerifiedNamespace, verifiedNamespace } from "./verified-namespace.ts";

const cluster = useCluster();
const chosen = { "keyturn.io/checksum": "enabled" };

/** A fleet of gateways: two namespaces with the same value of a label. The checksum is published in the first of them by name. */
async function fleet(name: string): Promise<{ readonly home: VerifiedNamespace; readonly other: string }> {
  const [home, other] = [await cluster().namespace("a"), await cluster().namespace("b")];
  for (const namespace of [home, other])
    await cluster().client.mergePatch(Namespace, { name: namespace }, { metadata: { labels: { ...chosen, fleet: name } } });
  return { home: new VerifiedNamespace(cluster(), home, ""), other };
}

type SecretManifest = KubeObject & {
  readonly apiVersion: string;
  readonly kind: string;
  readonly type: string;
  readonly data: Readonly<Record<string, string>>;
};

function secretIn(namespace: string, name: string, version: number, index: number): SecretManifest {
  const { certificate: chain, privateKey } = certificate(index);
  const metadata = { namespace, name, annotations: { [defaultVersionAnnotation]: String(version) } };
  return { apiVersion: "v1", kind: "Secret", metadata, type: "kubernetes.io/tls", data: secretData(chain, privateKey) };
}

async function put(namespace: string, name: string, version: number, index: number): Promise<void> {
  await cluster().apply(secretIn(namespace, name, version, index));
}

/** Runs a command as an administrator does who has a namespace of the scope in mind. */
const inScope = (namespace: string, ...words: readonly string[]): ReturnType<typeof runKeyturn> =>
  runKeyturn(...words, "-n", namespace, "--kubeconfig", cluster().adminKubeconfig, "--checksum.scope", "fleet");

/** An agent with exactly the rights that it declares. */
async function startFleetAgent(home: string, publicKey?: string): Promise<RunningAgent> {
  const scopeChoice: ScopeChoice = { choice: { type: "labelled", labels: "keyturn.io/checksum=enabled" }, rule: { type: "label", key: "fleet" } };
  const kubeconfig = await cluster().kubeconfigFor({
    serviceAccount: { namespace: home, name: "agent" },
    rules: policyRules(agentScopeAccess(scopeChoice)),
    namespacedRules: { [home]: policyRules(agentAccess) },
  });
  return startAgent({
    namespace: home,
    scopeChoice,
    members: { rules: { versionAnnotations: [defaultVersionAnnotation] }, selection: secretSelection("tls", undefined) },
    rules: { policies: keepAll, staleAfterMs: 600_000, alarmAfterMs: 0, limits: defaultLimits, signedOnly: publicKey !== undefined },
    keys: publicKey === undefined ? undefined : readPublicKeys(publicKey),
    connect: () => loadConfig({ kubeconfig, env: {} }),
  });
}

test("signatures: whoever has one namespace of a scope asks for them in all of it", async () => {
  await using place = await verifiedNamespace(cluster(), "operator");
  const { home, other } = await fleet("signed");
  const folder = await temporaryFolder();
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const [signing, checking] = [join(folder, "announce.key"), join(folder, "announce.pub")];
  await writeFile(signing, privateKey.export({ format: "pem", type: "pkcs8" }));
  await writeFile(checking, publicKey.export({ format: "pem", type: "spki" }));
  await place.startClusterOperator({ "checksum.scope": "fleet", "checksum.announced-only": other, "checksum.announcement-keys": checking });
  await put(home.namespace, "shop-1", 1, 0);
  await put(other, "bank-2", 1, 1);
  const allowed = await inScope(other, "checksum", "allow", "--sign", signing, "--wait");
  expect(allowed).toMatchObject({ code: 0, err: "" });
  const first = await home.published(["1-1", "2-1"]);
  const agent = await startFleetAgent(home.namespace, await readFile(checking, "utf8"));
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", secrets: { promoted: 2 } }));

  // Two batches of different namespaces at once; each is signed, and each is adopted.
  const batches = await Promise.all(
    [secretIn(home.namespace, "shop-1", 2, 2), secretIn(other, "bank-2", 2, 3)].map(async (secret, index) => {
      const file = join(folder, `batch-${index}.yaml`);
      await writeFile(file, JSON.stringify(secret));
      return inScope(secret.metadata.namespace ?? "", "checksum", "announce", "-f", file, "--sign", signing);
    }),
  );
  expect(batches).toMatchObject([{ code: 0 }, { code: 0 }]);
  await put(other, "bank-2", 2, 3);
  await put(home.namespace, "shop-1", 2, 2);
  await home.published(["1-2", "2-2"]);
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", alarms: [] }));

  // What nobody signed is neither published nor served, in whichever namespace, and both say how to let it through.
  await put(home.namespace, "shop-1", 3, 4);
  await soon(async () => {
    const conditions = (await home.checksums()).map(({ status }) => status?.conditions?.find(({ type }) => type === "Current"));
    const command = `keyturn checksum allow -n ${home.namespace} --checksum.scope=fleet --checksum.namespace-selector=keyturn.io/checksum=enabled --sign`;
    expect(conditions).toContainEqual(expect.objectContaining({ reason: "Unannounced", message: expect.stringContaining(command) }));
  });
  await soon(async () => expect(await agent.status()).toMatchObject({ alarms: [{ alarm: "Unannounced" }], heldCount: 1 }));
  expect(await readFile(join(agent.folder, "current", home.namespace, "shop-1", "tls.crt"), "utf8")).toBe(certificate(2).certificate);
  expect(first.metadata.namespace).toBe(home.namespace);
});

test("a credential's status has the checksum of its scope, from any namespace of it; who may not read it there is told so", async () => {
  await using place = await verifiedNamespace(cluster(), "operator");
  const { home, other } = await fleet("status");
  await place.startClusterOperator({ "checksum.scope": "fleet" });
  await put(home.namespace, "shop-1", 1, 0);
  await put(other, "bank-2", 1, 1);
  const { metadata } = await home.published(["1-1", "2-1"]);
  await cluster().apply(renderCrds([jwksFeature]));
  await cluster().apply({
    apiVersion: "keyturn.io/v1alpha1",
    kind: "JWKSConfig",
    metadata: { namespace: other, name: "bank" },
    spec: { certificateSecret: "bank-2", configMapName: "bank-jwks" },
  } as KubeObject & { readonly apiVersion: string; readonly kind: string });
  const statusOf = (kubeconfig: string, ...words: readonly string[]): ReturnType<typeof runKeyturn> =>
    runKeyturn("status", ...words, "--kubeconfig", kubeconfig, "--checksum.scope", "fleet");
  const sum = `secretchecksum/${home.namespace}/${metadata.name}`;
  expect(await statusOf(cluster().adminKubeconfig, "bank", "-n", other)).toMatchObject({ code: 0, out: expect.stringContaining(sum) });
  expect(await statusOf(cluster().adminKubeconfig, "bank", "-A")).toMatchObject({ code: 0, out: expect.stringContaining(sum) });
  expect(await statusOf(cluster().adminKubeconfig, "-n", other)).toMatchObject({ code: 0, out: expect.stringMatching(/^verify +1 healthy/m) });

  const everything: PolicyRule[] = [{ apiGroups: ["*"], resources: ["*"], verbs: ["list", "watch", "get"] }];
  const namespaces: PolicyRule[] = [{ apiGroups: [""], resources: ["namespaces"], verbs: ["list", "watch"] }];
  for (const rules of [[], namespaces]) {
    const kubeconfig = await cluster().kubeconfigFor({
      serviceAccount: { namespace: other, name: `viewer-${rules.length}` },
      rules,
      namespacedRules: { [other]: everything },
    });
    const { code, out } = await statusOf(kubeconfig, "bank", "-n", other);
    expect(code).toBe(0);
    expect(out).not.toContain(metadata.name);
    expect(out).toContain(rules.length === 0 ? "the right to watch namespaces" : `in namespace ${home.namespace}`);
  }
});

test("a large change is counted over all namespaces, and let through from any of them; a pause of any of them pauses all", async () => {
  await using place = await verifiedNamespace(cluster(), "operator");
  const { home, other } = await fleet("large");
  const operator = await place.startClusterOperator({ "checksum.scope": "fleet" });
  for (const number of [1, 2, 3, 4, 5]) await put(home.namespace, `shop-${number}`, 1, number);
  for (const number of [6, 7, 8, 9]) await put(other, `bank-${number}`, 1, number);
  const { metadata } = await home.published([1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => `${number}-1`));
  const agent = await startFleetAgent(home.namespace);
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", secrets: { promoted: 9 } }));

  const remove = (namespace: string, name: string): Promise<unknown> => cluster().client.delete(Secret, { namespace, name });
  // While no operator looks, so that it sees all of them go at once.
  await operator.stop();
  for (const number of [2, 3, 4, 5]) await remove(home.namespace, `shop-${number}`);
  for (const number of [6, 7, 8, 9]) await remove(other, `bank-${number}`);
  await place.startClusterOperator({ "checksum.scope": "fleet" });
  await soon(async () => expect(await home.condition(metadata.name, "Current")).toBe("False LargeChange"));
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "holding", secrets: { promoted: 9 } }));
  expect(await inScope(other, "diff")).toMatchObject({ code: 1, out: expect.stringContaining("8 Secrets differ") });

  await cluster().client.mergePatch(Namespace, { name: other }, { metadata: { annotations: { "keyturn.io/paused": "true" } } });
  expect(await inScope(other, "checksum", "allow")).toMatchObject({ code: 0 });
  await soon(async () => {
    const [newest] = await home.checksums();
    expect(newest?.status?.conditions?.find(({ type }) => type === "Current")?.reason).toBe("Paused");
  });
  await cluster().client.mergePatch(Namespace, { name: other }, { metadata: { annotations: { "keyturn.io/paused": null } } });
  await home.published(["1-1"]);
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", secrets: { promoted: 1 } }));
});
