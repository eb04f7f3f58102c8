// The kinds and the planned objects on a real API server: accepted as they are, admitted under Pod Security "restricted", and unchanged the second time.
import { ApiError, CustomResourceDefinition, crdOf, type KubeObject, ownedWriter, Pod, type Write } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { JwksWorld } from "../../packages/keyturn/test/jwks-world.ts";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";

const cluster = useSharedCluster();
const signal = new AbortController().signal;

/** Applies the CRD and waits until its kind is served. */
async function serve(kind: typeof JWKSConfig | typeof JWKS, namespace: string): Promise<void> {
  const { client } = cluster();
  await client.apply(CustomResourceDefinition, crdOf(kind), { fieldManager: "test", force: true });
  await soon(() => client.list<KubeObject>(kind, { namespace }));
}

/** What the API server makes of a manifest: the object with defaults, or why it was refused. */
async function submit(kind: typeof JWKSConfig | typeof JWKS, namespace: string, spec: object): Promise<unknown> {
  const object: KubeObject = Object.assign({ metadata: { namespace, name: "site" } }, { spec });
  return cluster()
    .client.create<KubeObject>(kind, object, { dryRun: true })
    .catch((error: unknown) => (error instanceof ApiError ? error.body.message : error));
}

/** All that is said, and in words. */
const tooLong =
  /is invalid: spec\.oldKeysTTL: Invalid value: "99999999h": must be a duration such as 30s, 720h or 1h30m, and not longer than 876000h \(100 years\)$/;

describe("the kinds", () => {
  test("a JWKSConfig gets its defaults, and nonsense is refused with a reason", async () => {
    const namespace = await cluster().namespace("jwks");
    await serve(JWKSConfig, namespace);
    const good = { certificateSecret: "tls", configMapName: "keys", nginxConfigMapName: "nginx" };
    expect(await submit(JWKSConfig, namespace, good)).toMatchObject({
      spec: { updateStrategy: "rolling", keepOldKeys: true, oldKeysTTL: "720h", endpoint: "/jwks.json", keyId: "Thumbprint" },
    });
    expect(await submit(JWKSConfig, namespace, { ...good, keepOldKeys: false })).toMatchObject({ spec: { keepOldKeys: false } });
    expect(await submit(JWKSConfig, namespace, { ...good, nginxConfigMapName: "keys" })).toContain("must differ");
    expect(await submit(JWKSConfig, namespace, { ...good, oldKeysTTL: "30 days" })).toContain("oldKeysTTL");
    expect(await submit(JWKSConfig, namespace, { ...good, oldKeysTTL: "876000h" })).toHaveProperty("spec");
    expect(await submit(JWKSConfig, namespace, { ...good, oldKeysTTL: "99999999h" })).toMatch(tooLong);
    expect(await submit(JWKSConfig, namespace, { ...good, algorithm: "none" })).toContain("algorithm");
    expect(await submit(JWKSConfig, namespace, { ...good, nginx: { corsOrigins: ['https://a.b";return 200 "x'] } })).toContain("corsOrigins");
    expect(await submit(JWKSConfig, namespace, { ...good, nginx: { corsOrigins: ["*", "https://a.b:8443"] } })).toHaveProperty("spec");
  });

  test("a JWKS takes whatever the predecessor took, but no oldKeysTTL beyond all dates", async () => {
    const namespace = await cluster().namespace("jwks");
    await serve(JWKS, namespace);
    const spec = {
      certificateSecret: "tls",
      configMapName: "keys",
      reconcileInterval: "x",
      jwksUpdateInterval: "6h",
      jwksVerificationInterval: "5m",
    };
    expect(await submit(JWKS, namespace, spec)).toMatchObject({
      spec: { ...spec, updateStrategy: "rolling", keepOldKeys: true, oldKeysTTL: "720h" },
    });
    for (const oldKeysTTL of ["876000h", "30d"]) expect(await submit(JWKS, namespace, { ...spec, oldKeysTTL })).toHaveProperty("spec");
    expect(await submit(JWKS, namespace, { ...spec, oldKeysTTL: "99999999h" })).toMatch(tooLong);
  });
});

describe("the planned objects", () => {
  async function planned(namespace: string): Promise<readonly Write[]> {
    const world = new JwksWorld();
    const { certificate, privateKey } = makeCertificate();
    world.putSecret("tls", secretData(certificate, privateKey));
    // Garbage collection would remove what belongs to an owner that does not exist.
    return world.run(Date.UTC(2026, 0, 1)).writes.flatMap((write) => {
      if (write.verb !== "apply") return [];
      const { ownerReferences: _, ...metadata } = write.object.metadata;
      return [{ ...write, object: { ...write.object, metadata: { ...metadata, namespace } } }];
    });
  }

  test("are written once; a second time nothing is sent", async () => {
    const namespace = await cluster().namespace("jwks");
    const owner = { kind: JWKSConfig, name: { namespace, name: "site" } };
    const writer = ownedWriter({ client: cluster().client, operator: keyturn, controller: "jwks", owner, signal });
    const results: string[] = [];
    const writes = await planned(namespace);
    for (const write of [...writes, ...writes]) {
      if (write.verb === "apply") results.push(`${write.kind.kind} ${await writer.apply(write.kind, write.object)}`);
    }
    const kinds = ["ConfigMap", "ConfigMap", "Deployment", "Service"];
    expect(results.slice(0, 4)).toEqual(kinds.map((kind) => `${kind} created`));
    // The Deployment's controller writes its status meanwhile, which is not ours to compare.
    expect(results.slice(4)).toEqual(kinds.map((kind) => `${kind} unchanged`));
  });

  test("the pods are admitted where Pod Security enforces restricted", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("jwks", { "pod-security.kubernetes.io/enforce": "restricted" });
    const deployment = (await planned(namespace)).find(({ kind }) => kind.kind === "Deployment");
    const template: unknown = deployment?.verb === "apply" ? Reflect.get(Reflect.get(deployment.object, "spec"), "template") : undefined;
    const pod: Pod = Object.assign({}, template, { metadata: { namespace, name: "admitted" } });
    await expect(client.create(Pod, pod, { dryRun: true })).resolves.toHaveProperty("spec");
    // The same namespace does refuse what is not restricted.
    const careless: Pod = { metadata: { namespace, name: "refused" }, spec: { containers: [{ name: "nginx", image: "nginx" }] } };
    await expect(client.create(Pod, careless, { dryRun: true })).rejects.toThrow("restricted");
  });
});
