// Deletion: what goes with the object, what stays, and that it never hangs.
import { ConfigMap, Deployment, Secret, Service } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { type PublishingNamespace, publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();
const certificate = makeCertificate();

/** An object with everything, and objects of others beside it. */
async function published(place: PublishingNamespace, cleanupOnDelete: boolean): Promise<void> {
  const metadata = { namespace: place.namespace, name: "theirs" };
  await cluster().client.create(ConfigMap, { metadata });
  await cluster().client.create(Service, { metadata, spec: { ports: [{ port: 80 }] } });
  await place.putSecret("signer", certificate);
  await place.putConfig("other", { nginxConfigMapName: "other-nginx" });
  await place.putConfig("site", { nginxConfigMapName: "site-nginx", cleanupOnDelete });
  await place.conditionSays("site", "Ready", "True Ready");
  await place.conditionSays("other", "Ready", "True Ready");
}

/** Waits until the object and nginx's objects are gone, and says whether the document is. Others' must all be there. */
async function documentIsGone(place: PublishingNamespace): Promise<boolean> {
  await soon(async () => {
    const found = [
      await place.get(JWKSConfig, "site"),
      await place.get(Deployment, "site"),
      await place.get(Service, "site"),
      await place.get(ConfigMap, "site-nginx"),
    ];
    expect(found).toEqual([undefined, undefined, undefined, undefined]);
  });
  for (const name of ["other-jwks", "other-nginx", "theirs"]) expect(await place.get(ConfigMap, name)).toBeDefined();
  expect(await place.get(Deployment, "other")).toBeDefined();
  for (const name of ["other", "theirs"]) expect(await place.get(Service, name)).toBeDefined();
  expect(await place.get(Secret, "signer")).toBeDefined();
  return (await place.get(ConfigMap, "site-jwks")) === undefined;
}

test.concurrent.each([true, false])("with cleanupOnDelete %s: nginx goes, the document as asked for, nothing of others", async (cleanupOnDelete) => {
  await using place = await publishingNamespace(cluster(), "delete");
  await place.startOperator();
  await published(place, cleanupOnDelete);
  expect((await place.get(JWKSConfig, "site"))?.metadata.finalizers).toEqual(["keyturn.io/jwks"]);
  await cluster().client.delete(JWKSConfig, { namespace: place.namespace, name: "site" });
  await soon(async () => expect(await documentIsGone(place)).toBe(cleanupOnDelete));
});

test.concurrent.each([true, false])(
  "asked for while the operator was down, with cleanupOnDelete %s: done when it is back",
  async (cleanupOnDelete) => {
    await using place = await publishingNamespace(cluster(), "down");
    const operator = await place.startOperator();
    await published(place, cleanupOnDelete);
    await operator.stop();
    await cluster().client.delete(JWKSConfig, { namespace: place.namespace, name: "site" });
    expect((await place.get(JWKSConfig, "site"))?.metadata.deletionTimestamp).toBeDefined();
    await place.startOperator();
    await soon(async () => expect(await documentIsGone(place)).toBe(cleanupOnDelete));
  },
);

test.concurrent.each([true, false])(
  "forced without the operator, with cleanupOnDelete %s: Kubernetes takes what should go",
  async (cleanupOnDelete) => {
    await using place = await publishingNamespace(cluster(), "forced");
    const operator = await place.startOperator();
    await published(place, cleanupOnDelete);
    await operator.stop();
    await cluster().client.delete(JWKSConfig, { namespace: place.namespace, name: "site" });
    await cluster().client.mergePatch(JWKSConfig, { namespace: place.namespace, name: "site" }, { metadata: { finalizers: null } });
    // The garbage collector learns of a new CRD within 30 s, later if others come and go meanwhile, and acts after that.
    await soon(async () => expect(await documentIsGone(place)).toBe(cleanupOnDelete));
  },
);

test("cleanupOnDelete given up before the deletion: the document stays", { concurrent: true }, async () => {
  await using place = await publishingNamespace(cluster(), "changed");
  await place.startOperator();
  await place.putSecret("signer", certificate);
  await place.putConfig("site", { cleanupOnDelete: true });
  await place.conditionSays("site", "Ready", "True Ready");
  expect((await place.get(ConfigMap, "site-jwks"))?.metadata.ownerReferences).toHaveLength(1);
  await place.putConfig("site", { cleanupOnDelete: false });
  await soon(async () => expect((await place.get(ConfigMap, "site-jwks"))?.metadata.ownerReferences ?? []).toEqual([]));
  await cluster().kubectl("delete", "jwksconfig", "site", "-n", place.namespace, "--timeout=300s");
  await place.published("site-jwks", [certificate]);
});

test("of an object that never published anything, or whose spec is no good, does not hang", { concurrent: true }, async () => {
  await using place = await publishingNamespace(cluster(), "nothing");
  await place.startOperator();
  await place.putConfig("site");
  await place.putJwks("bad", { oldKeysTTL: "soon" });
  await place.conditionSays("site", "Ready", "False SecretNotFound");
  await place.conditionSays("bad", "Ready", "False InvalidSpec", JWKS);
  await cluster().kubectl("delete", "jwksconfig/site", "jwks.rieset.io/bad", "-n", place.namespace, "--timeout=300s");
});

test("of an object that is made again loses no key, also if the document was edited in between", { concurrent: true }, async () => {
  await using place = await publishingNamespace(cluster(), "again");
  await place.startOperator();
  const second = makeCertificate();
  await place.putSecret("signer", certificate);
  await place.putConfig("site");
  await place.published("site-jwks", [certificate]);
  await place.putSecret("signer", second);
  await place.published("site-jwks", [second, certificate]);
  await cluster().kubectl("delete", "jwksconfig", "site", "-n", place.namespace, "--timeout=300s");
  const document = (await place.get(ConfigMap, "site-jwks"))?.data?.["jwks.json"];
  await cluster().client.mergePatch(ConfigMap, { namespace: place.namespace, name: "site-jwks" }, { data: { "jwks.json": `${document}\n` } });
  await place.putConfig("site");
  await place.conditionSays("site", "Ready", "True Ready");
  await place.published("site-jwks", [second, certificate]);
});

test("of the whole namespace does not hang", { concurrent: true }, async () => {
  await using place = await publishingNamespace(cluster(), "namespace");
  await place.startOperator();
  await place.putSecret("signer", certificate);
  await place.putConfig("site", { nginxConfigMapName: "site-nginx" });
  await place.conditionSays("site", "Ready", "True Ready");
  await cluster().client.delete(JWKSConfig, { namespace: place.namespace, name: "site" });
  await cluster().kubectl("delete", "namespace", place.namespace, "--timeout=300s");
});
