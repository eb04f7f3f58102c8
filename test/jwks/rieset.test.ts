// JWKS of rieset.io: the predecessor's manifests as they are, and the way over from the predecessor as the guide shows it.
import { Buffer } from "node:buffer";
import { createHash, createPublicKey, X509Certificate } from "node:crypto";
import { ConfigMap, Deployment, type KubeObject, Pod, ReplicaSet, Service } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { JWKS } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { makeCertificate, type TestCertificate } from "../../packages/keyturn/test/certificates.ts";
import { type PublishingNamespace, publishingNamespace } from "./publishing-namespace.ts";
import { allFields } from "./rieset-fields.ts";
import { runShell, shellBlock } from "../support/shell-block.ts";

const cluster = useSharedCluster();
const [before, current, next] = [
  makeCertificate({ keyType: "rsa2048" }),
  makeCertificate({ keyType: "rsa2048" }),
  makeCertificate({ keyType: "rsa2048" }),
];

/** As the predecessor makes it: the start of the certificate's SHA-1. */
const kidOf = ({ certificate }: TestCertificate): string =>
  createHash("sha1").update(new X509Certificate(certificate).raw).digest("hex").slice(0, 16);

test("the predecessor's manifest with all its fields is served as it is: same kid, same alg, no field lost", async () => {
  await using place = await publishingNamespace(cluster(), "rieset");
  await place.startOperator();
  await place.putSecret("signer", current);
  await place.putJwks("tokens", allFields);
  await place.conditionSays("tokens", "Ready", "True Ready", JWKS);
  expect(await place.keysIn("tokens-jwks")).toMatchObject([{ kid: kidOf(current), alg: "RS512", use: "sig", kty: "RSA" }]);
  expect((await place.get(JWKS, "tokens"))?.spec).toEqual({ certificateSecret: "signer", configMapName: "tokens-jwks", ...allFields });
  expect(await place.get(Service, "tokens")).toBeDefined();
  expect(await place.status("tokens", JWKS)).toMatchObject({ keyCount: 1, lastKeyID: kidOf(current) });

  await place.putJwks("tokens", allFields, { "keyturn.io/algorithm": "RS256", "keyturn.io/key-id": "Thumbprint" });
  await soon(async () => expect(await place.keysIn("tokens-jwks")).toMatchObject([{ alg: "RS256" }, { kid: kidOf(current), alg: "RS512" }]));
});

test("keepOldKeys: false is honoured and stays in the spec", async () => {
  await using place = await publishingNamespace(cluster(), "keep");
  await place.startOperator();
  await place.putSecret("signer", current);
  await place.putJwks("tokens", { keepOldKeys: false });
  await soon(async () => expect(await place.kidsIn("tokens-jwks")).toEqual([kidOf(current)]));
  await place.putSecret("signer", next);
  await soon(async () => expect(await place.kidsIn("tokens-jwks")).toEqual([kidOf(next)]));
  expect((await place.get(JWKS, "tokens"))?.spec).toMatchObject({ keepOldKeys: false });
  expect((await place.get(JWKS, "tokens"))?.metadata.generation).toBe(1);
});

test("the guide's commands hand the predecessor's objects over: no key is lost, and pods serve all the time", async () => {
  await using place = await publishingNamespace(cluster(), "adopt");
  await leaveAsTheOriginal(place);
  await place.startOperator();
  const conflict = `ConfigMap ${place.namespace}/tokens-jwks exists and it was not made by this operator`;
  expect(await place.conditionSays("tokens", "Ready", "False Conflict", JWKS)).toContain(conflict);
  const [oldReplicaSet] = (await cluster().client.list(ReplicaSet, { namespace: place.namespace })).items;

  const done = new AbortController();
  const fewest = fewestReadyPods(place, done.signal);
  const commands = (await shellBlock("migration/from-jwks-operator.md", "adopt")).replace("namespace=shop", `namespace=${place.namespace}`);
  await runShell(cluster(), commands);
  await place.conditionSays("tokens", "Ready", "True Ready", JWKS);
  await soon(async () => {
    const { status, spec } = (await place.get(Deployment, "tokens")) ?? {};
    expect(spec?.template.spec?.containers[0]?.image).toContain("unprivileged");
    expect(status).toMatchObject({ replicas: 1, updatedReplicas: 1, availableReplicas: 1 });
    expect(await place.get(ReplicaSet, oldReplicaSet?.metadata.name ?? "")).toMatchObject({ spec: { replicas: 0 } });
  });
  done.abort();
  expect(await fewest).toBeGreaterThan(0);

  expect(await place.keysIn("tokens-jwks")).toMatchObject([
    { kid: kidOf(current), alg: "RS512" },
    { kid: kidOf(before), alg: "RS512" },
  ]);
  expect((await place.get(ConfigMap, "tokens-jwks"))?.data).toBeUndefined();
  expect((await place.status("tokens", JWKS)).keys).toMatchObject([{ state: "Active" }, { state: "Retiring", removeAt: expect.any(String) }]);
  expect((await place.get(Service, "tokens"))?.spec).toMatchObject({ ports: [{ port: 80, targetPort: "http" }] });
  expect((await place.get(ConfigMap, "tokens-nginx"))?.data?.["default.conf"]).toContain("listen 8080");
  const container = (await place.get(Deployment, "tokens"))?.spec?.template.spec?.containers[0];
  expect(container?.volumeMounts).toHaveLength(3);

  await place.putSecret("signer", next);
  await soon(async () => expect(await place.kidsIn("tokens-jwks")).toEqual([kidOf(next), kidOf(current), kidOf(before)]));
});

test("what the predecessor left in the status makes no more writes than any other object", async () => {
  await using place = await publishingNamespace(cluster(), "status");
  await place.putSecret("signer", current);
  await place.putJwks("tokens");
  const status = { jwksVerified: "2025-01-01T00:00:00Z", keyCount: 1, conditions: [condition("Reconciled")] };
  await cluster().client.mergePatch(
    JWKS,
    { namespace: place.namespace, name: "tokens" },
    { status },
    { subresource: "status", fieldManager: "manager" },
  );
  const operator = await place.startOperator();
  await place.conditionSays("tokens", "Ready", "True Ready", JWKS);
  const sumOf = async (series: RegExp): Promise<number> =>
    (await operator.metrics()).matchAll(series).reduce((sum, [, value]) => sum + Number(value), 0);
  const patches = /^rest_client_requests_total\{[^}]*method="PATCH"[^}]*\} (\d+)$/gm;
  const runs = /^controller_runtime_reconcile_total\{controller="jwks-rieset",result="requeue_after"\} (\d+)$/gm;
  let note = 0;
  // The pods that come up write to the status too; from some touch on a run has nothing to do.
  await soon(async () => {
    const [written, earlier] = [await sumOf(patches), await sumOf(runs)];
    note += 1;
    await place.putJwks("tokens", {}, { "example.com/note": `${note}` });
    await soon(async () => expect(await sumOf(runs)).toBeGreaterThan(earlier));
    expect(await sumOf(patches)).toBe(written);
  });
  expect((await place.get(JWKS, "tokens"))?.status).toMatchObject({ jwksVerified: "2025-01-01T00:00:00Z" });
});

test("the guide's command copies objects of the group example.com", async () => {
  await using place = await publishingNamespace(cluster(), "copy");
  const predecessor = await cluster().kubectl("get", "crd", "jwks.rieset.io", "-o", "json");
  const { spec } = JSON.parse(predecessor) as { readonly spec: object };
  const crd = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "jwks.example.com" } };
  await cluster().apply({ ...crd, spec: { ...spec, group: "example.com", conversion: undefined } } as KubeObject);
  const object = {
    apiVersion: "example.com/v1alpha1",
    kind: "JWKS",
    metadata: { namespace: place.namespace, name: "tokens", labels: { team: "shop" } },
    spec: { certificateSecret: "signer", configMapName: "tokens-jwks", ...allFields },
  };
  await cluster().apply(object);
  // It may hear of a new group later than everybody else.
  await soon(() => cluster().kubectl("get", "jwks.example.com", "-n", place.namespace));
  await runShell(cluster(), await shellBlock("migration/from-jwks-operator.md", "copy"));
  expect(await place.get(JWKS, "tokens")).toMatchObject({ metadata: { labels: { team: "shop" } }, spec: object.spec });
  await cluster().kubectl("delete", "crd", "jwks.example.com");
});

function condition(reason: string): object {
  return { type: "Ready", status: "True", reason, message: "JWKS successfully updated", lastTransitionTime: "2025-01-01T00:00:00Z" };
}

/** What a namespace looks like in which the predecessor has worked: its objects, without our label, and pods that run. */
async function leaveAsTheOriginal(place: PublishingNamespace): Promise<void> {
  const { client } = cluster();
  const metadata = { namespace: place.namespace, name: "tokens" };
  const by = { fieldManager: "manager" };
  const entry = (certificate: TestCertificate): object => ({
    ...createPublicKey(certificate.privateKey).export({ format: "jwk" }),
    use: "sig",
    key_ops: ["verify"],
    alg: "RS512",
    kid: kidOf(certificate),
    x5c: [new X509Certificate(certificate.certificate).raw.toString("base64")],
  });
  const document = JSON.stringify({ keys: [entry(before), entry(current)] }, undefined, 2);
  await client.create(
    ConfigMap,
    { metadata: { ...metadata, name: "tokens-jwks" }, binaryData: { "jwks.json": Buffer.from(document).toString("base64") } },
    by,
  );
  await client.create(ConfigMap, { metadata: { ...metadata, name: "tokens-nginx" }, data: { "default.conf": "server { listen 80; }\n" } }, by);
  await client.create(
    Service,
    { metadata, spec: { type: "ClusterIP", selector: { app: "tokens" }, ports: [{ name: "http", port: 80, targetPort: 80 }] } },
    by,
  );
  const labels = { app: "tokens", "jwks-config": "tokens" };
  const container = {
    name: "nginx",
    image: "nginx:1.25-alpine",
    ports: [{ name: "http", containerPort: 80 }],
    volumeMounts: [
      { name: "nginx-config", mountPath: "/etc/nginx/conf.d" },
      { name: "jwks", mountPath: "/usr/share/nginx/html/jwks.json", subPath: "jwks.json" },
    ],
  };
  const volumes = [
    { name: "nginx-config", configMap: { name: "tokens-nginx" } },
    { name: "jwks", configMap: { name: "tokens-jwks" } },
  ];
  await client.create(
    Deployment,
    {
      metadata: { ...metadata, labels: { ...labels, "managed-by": "jwks-operator" } },
      spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container], volumes } } },
    },
    by,
  );
  await place.putSecret("signer", current);
  await place.putJwks("tokens", allFields);
  await soon(async () => expect((await place.get(Deployment, "tokens"))?.status?.availableReplicas).toBe(1));
}

/** The least number of ready pods behind the Service that was ever seen. */
async function fewestReadyPods({ namespace }: PublishingNamespace, signal: AbortSignal): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY;
  while (!signal.aborted) {
    const { items } = await cluster().client.list(Pod, { namespace, labels: "app=tokens,jwks-config=tokens" });
    fewest = Math.min(
      fewest,
      items.filter(({ status }) => status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True")).length,
    );
  }
  return fewest;
}
