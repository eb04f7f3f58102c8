// `keyturn revoke`: finds the key by any of its names, asks, withdraws it everywhere, and says when nobody accepts it any more.
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { JWKS, JWKSConfig, revokeAnnotation } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { typed } from "../support/typed-command.ts";
import { kidOf, publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();

test("withdraws a key from every document that has it, and refuses what it does not know or nobody confirmed", async () => {
  await using place = await publishingNamespace(cluster(), "revoking");
  await place.startOperator();
  const [leaked, other] = [makeCertificate(), makeCertificate()];
  await place.putSecret("signer", leaked);
  await place.putSecret("next", other);
  await place.putConfig("site", { certificateSecrets: ["next"], nginxConfigMapName: "site-nginx", nginx: { cacheSeconds: 600 } });
  await place.putJwks("old");
  await place.conditionSays("site", "Published", "True Published");
  await place.conditionSays("old", "Published", "True Published", JWKS);
  await place.published("site-jwks", [leaked, other]);
  const revoke = (...words: readonly string[]) => typed("revoke", ...words, "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig);

  expect(await revoke("mistyped", "--yes")).toMatchObject({ code: 1, err: expect.stringContaining('nothing is known by "mistyped"') });
  expect(await revoke(await kidOf(leaked))).toMatchObject({ code: 2, err: expect.stringMatching(/JWKSConfig .*\/site[^]*JWKS .*\/old[^]*--yes/) });
  const dry = await revoke(await kidOf(leaked), "--dry-run");
  expect(dry).toMatchObject({
    code: 0,
    err: "",
    out: expect.stringMatching(/^JWKSConfig \S+\/site: withdrawn \S+ \(server dry run\)\nJWKS \S+\/old: /),
  });
  expect((await place.get(JWKSConfig, "site"))?.metadata.annotations?.[revokeAnnotation]).toBeUndefined();
  await place.published("site-jwks", [leaked, other]);

  const done = await revoke(await kidOf(leaked), "--yes");
  expect(done).toMatchObject({ code: 0, out: expect.stringMatching(/site: withdrawn at .*; the last cache of the old document ends at /) });
  await place.published("site-jwks", [other]);
  expect(await place.kidsIn("old-jwks")).toEqual([]);
  await place.conditionSays("site", "Ready", "False SigningKeyRevoked");
  expect(await revoke(await kidOf(leaked), "--yes")).toMatchObject({ code: 1, err: expect.stringContaining("revoked already") });
});

test("finds a key that only a document under an earlier name still has, and withdraws it there", async () => {
  await using place = await publishingNamespace(cluster(), "revoking-earlier");
  await place.startOperator();
  const [leaked, other] = [makeCertificate(), makeCertificate()];
  await place.putSecret("signer", leaked);
  await place.putConfig("site", { configMapName: "earlier", updateStrategy: "immediate" });
  await place.published("earlier", [leaked]);
  await place.putConfig("site", { updateStrategy: "immediate" });
  await place.published("site-jwks", [leaked]);
  await place.putSecret("signer", other);
  await place.published("site-jwks", [other]);
  await soon(async () => expect((await place.status("site")).keys).toHaveLength(1));
  expect(await place.kidsIn("earlier")).toContain(await kidOf(leaked));

  const revoke = await typed("revoke", await kidOf(leaked), "--yes", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig);
  expect(revoke).toMatchObject({ code: 0, out: expect.stringContaining("site: withdrawn at") });
  await soon(async () => expect(await place.kidsIn("earlier")).not.toContain(await kidOf(leaked)));
  await place.published("site-jwks", [other]);
});

test("finds a key in a document whose object was deleted, and withdraws it there", async () => {
  await using place = await publishingNamespace(cluster(), "revoking-left");
  await place.startOperator();
  const [leaked, other] = [makeCertificate(), makeCertificate()];
  await place.putSecret("signer", other);
  await place.putSecret("next", leaked);
  await place.putConfig("gone", { certificateSecrets: ["next"] });
  await place.published("gone-jwks", [other, leaked]);
  await cluster().client.delete(JWKSConfig, { namespace: place.namespace, name: "gone" });
  await soon(async () => expect(await place.get(JWKSConfig, "gone")).toBeUndefined());
  const revoke = (...words: readonly string[]) => typed("revoke", ...words, "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig);

  expect(await revoke(await kidOf(leaked))).toMatchObject({
    code: 2,
    err: expect.stringMatching(/ConfigMap .*\/gone-jwks, whose object is deleted/),
  });
  expect(await revoke(await kidOf(leaked), "--dry-run")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/ConfigMap \S+\/gone-jwks: withdrawn/),
  });
  await place.published("gone-jwks", [other, leaked]);
  expect(await revoke(await kidOf(leaked), "--yes")).toMatchObject({ code: 0, out: expect.stringMatching(/gone-jwks: withdrawn at/) });
  await place.published("gone-jwks", [other]);
  // It is believed by the object that is made again, which goes on where the document is.
  await place.putSecret("next", makeCertificate());
  await place.putConfig("gone");
  await place.conditionSays("gone", "Published", "True Published");
  expect(await place.kidsIn("gone-jwks")).toEqual([await kidOf(other)]);
});
