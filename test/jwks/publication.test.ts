// Publishing on a real API server: what appears in the ConfigMap, and when, as certificates come, change and go.
import { Secret } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { JWKSConfig, revokeAnnotation } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { kidOf, publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();
const [first, second, third] = [makeCertificate(), makeCertificate(), makeCertificate()];

describe("a certificate", { concurrent: true }, () => {
  test("is published when the object is created, and again within moments of a change of its Secret", async () => {
    await using place = await publishingNamespace(cluster(), "publish");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site");
    await place.published("site-jwks", [first]);
    expect(await place.eventSays("site", "KeyAdded")).toBe(`key ${await kidOf(first)} of Secret signer is published`);
    await place.putSecret("signer", second);
    await place.published("site-jwks", [second, first]);
    expect(await place.eventSays("site", "KeyRetired")).toContain(await kidOf(first));
    await place.conditionSays("site", "Ready", "True Ready");
    await soon(async () =>
      expect(await place.status("site")).toMatchObject({
        observedGeneration: 1,
        keyCount: 2,
        lastKeyID: await kidOf(second),
        lastUpdateTime: expect.any(String),
        nextRemoval: expect.any(String),
        keys: [
          { kid: await kidOf(second), state: "Active", source: "signer", certificateExpires: "2049-01-01T00:00:00.000Z" },
          { kid: await kidOf(first), state: "Retiring", source: "signer", removeAt: expect.any(String) },
        ],
      }),
    );
  });

  test("is published when its Secret comes after the object", async () => {
    await using place = await publishingNamespace(cluster(), "late");
    await place.startOperator();
    await place.putConfig("site");
    await place.conditionSays("site", "Ready", "False SecretNotFound");
    await place.putSecret("signer", first);
    await place.published("site-jwks", [first]);
    await place.conditionSays("site", "Ready", "True Ready");
  });

  test("renewed for the same key updates its entry and makes no second one", async () => {
    await using place = await publishingNamespace(cluster(), "renewed");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site");
    await place.published("site-jwks", [first]);
    const [before] = (await place.keysIn("site-jwks")) ?? [];
    await place.putSecret("signer", makeCertificate({ privateKey: first.privateKey }));
    await place.eventSays("site", "KeyRenewed");
    await place.published("site-jwks", [first]);
    const [after] = (await place.keysIn("site-jwks")) ?? [];
    expect(after?.["x"]).toBe(before?.["x"]);
    expect(after?.["x5t#S256"]).not.toBe(before?.["x5t#S256"]);
  });

  test("whose key comes back is the active one again", async () => {
    await using place = await publishingNamespace(cluster(), "back");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site");
    await place.published("site-jwks", [first]);
    await place.putSecret("signer", second);
    await place.published("site-jwks", [second, first]);
    await place.putSecret("signer", first);
    await place.published("site-jwks", [first, second]);
    await place.eventSays("site", "KeyRevived");
    await soon(async () => expect((await place.status("site")).keys).toMatchObject([{ state: "Active" }, { state: "Retiring" }]));
  });

  test.each([{ updateStrategy: "immediate" }, { keepOldKeys: false }])("replaces the old one at once with %o", async (spec) => {
    await using place = await publishingNamespace(cluster(), "replace");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site", spec);
    await place.published("site-jwks", [first]);
    await place.putSecret("signer", second);
    await place.published("site-jwks", [second]);
    await place.eventSays("site", "KeyRemoved");
  });

  test("is read with its chain, its own kind of key and nothing private", async () => {
    await using place = await publishingNamespace(cluster(), "kinds");
    await place.startOperator();
    const root = makeCertificate({ commonName: "root" });
    const leaf = makeCertificate({ keyType: "rsa2048", issuer: root, commonName: "leaf" });
    await place.putSecret("signer", { ...leaf, certificate: `some words first\r\n${leaf.certificate.replaceAll("\n", "\r\n")}${root.certificate}` });
    await place.putSecret("p384", makeCertificate({ keyType: "p384" }));
    await place.putSecret("p521", makeCertificate({ keyType: "p521" }));
    await place.putSecret("ed25519", makeCertificate({ keyType: "ed25519" }));
    await place.putConfig("site", { certificateSecrets: ["p384", "p521", "ed25519"] });
    await soon(async () => expect(await place.keysIn("site-jwks")).toHaveLength(4));
    const keys = (await place.keysIn("site-jwks")) ?? [];
    expect(keys).toMatchObject([
      { kty: "RSA", alg: "RS256", use: "sig", x5c: [expect.any(String), expect.any(String)] },
      { kty: "EC", crv: "P-384", alg: "ES384" },
      { kty: "EC", crv: "P-521", alg: "ES512" },
      { kty: "OKP", crv: "Ed25519", alg: "EdDSA" },
    ]);
    for (const key of keys) for (const member of ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "key_ops"]) expect(key).not.toHaveProperty(member);
  });
});

describe("several Secrets", { concurrent: true }, () => {
  test("publish the next certificate before it signs, and the one before after it did", async () => {
    await using place = await publishingNamespace(cluster(), "several");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putSecret("next", second);
    await place.putConfig("site", { certificateSecrets: ["next"] });
    await place.published("site-jwks", [first, second]);
    await soon(async () =>
      expect((await place.status("site")).keys).toMatchObject([
        { state: "Active", source: "signer" },
        { state: "Active", source: "next" },
      ]),
    );
    await place.putSecret("signer", second);
    await place.putSecret("next", third);
    await place.published("site-jwks", [second, third, first]);
    await place.putConfig("site", { certificateSecrets: [] });
    await soon(async () =>
      expect((await place.status("site")).keys).toMatchObject([
        { kid: await kidOf(second), state: "Active" },
        { state: "Retiring" },
        { state: "Retiring" },
      ]),
    );
  });

  test("go on being published while one of them is missing, and that is said", async () => {
    await using place = await publishingNamespace(cluster(), "some");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site", { certificateSecrets: ["next"] });
    await place.published("site-jwks", [first]);
    expect(await place.conditionSays("site", "Ready", "False SecretNotFound")).toContain("Secret next: the Secret does not exist");
  });
});

describe("a replaced key", { concurrent: true }, () => {
  test("goes when its time is over, not before", async () => {
    await using place = await publishingNamespace(cluster(), "ttl");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site", { oldKeysTTL: "3s" });
    await place.published("site-jwks", [first]);
    // A watch: whoever asks now and then may ask too late.
    using seen = await place.witness();
    await place.putSecret("signer", second);
    await place.published("site-jwks", [second]);
    const goneMs = Date.now();
    const [old, young] = await Promise.all([first, second].map(kidOf));
    await soon(() => {
      expect(seen.documents("site-jwks")).toEqual([[young, old], [young]]);
      const removals = seen
        .statuses("site")
        .flatMap(({ keys = [] }) => keys.flatMap(({ kid, removeAt }) => (kid === old && removeAt ? [removeAt] : [])));
      expect(goneMs).toBeGreaterThanOrEqual(Date.parse(removals.at(-1) ?? ""));
    });
    await soon(async () => expect((await place.status("site")).keys).toHaveLength(1));
    expect((await place.status("site")).nextRemoval).toBeUndefined();
  });

  test.each([{ updateStrategy: "immediate" }, { keepOldKeys: false }, { oldKeysTTL: "0" }])(
    "keeps its date when %o is there for a moment",
    async (spec) => {
      await using place = await publishingNamespace(cluster(), "moment");
      await place.startOperator();
      await place.putSecret("signer", first);
      await place.putConfig("site");
      await place.published("site-jwks", [first]);
      await place.putSecret("signer", second);
      await soon(async () => expect((await place.status("site")).keyCount).toBe(2));
      const { nextRemoval } = await place.status("site");
      for (const each of [spec, {}]) {
        await place.putConfig("site", each);
        await soon(async () => {
          const { metadata, status } = (await place.get(JWKSConfig, "site")) ?? {};
          expect(status?.observedGeneration).toBe(metadata?.generation);
        });
      }
      await place.published("site-jwks", [second, first]);
      expect((await place.status("site")).nextRemoval).toBe(nextRemoval);
    },
  );

  test("goes as soon as the operator is back when its time was over meanwhile, and stays if it was not", async () => {
    await using place = await publishingNamespace(cluster(), "ttl-restart");
    const operator = await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("short", { oldKeysTTL: "1s" });
    await place.putConfig("long", { oldKeysTTL: "1h" });
    await place.published("short-jwks", [first]);
    await place.published("long-jwks", [first]);
    await operator.stop();
    await place.putSecret("signer", second);
    const again = await place.startOperator();
    await soon(async () => expect(await place.kidsIn("short-jwks")).toContain(await kidOf(second)));
    await place.published("long-jwks", [second, first]);
    const nextRemoval = await soon(async () => (await place.status("long")).nextRemoval ?? expect.fail("none yet"));
    await again.stop();
    await place.startOperator();
    await place.published("short-jwks", [second]);
    await place.published("long-jwks", [second, first]);
    expect((await place.status("long")).nextRemoval).toBe(nextRemoval);
  });
});

describe("the annotation keyturn.io/revoke", { concurrent: true }, () => {
  test("withdraws a key at once, past every limit; the key does not return while the annotation stands", async () => {
    await using place = await publishingNamespace(cluster(), "revoke");
    const flags = { "jwks.reconcile-interval": "1h", "jwks.reconciles-per-minute": "1", "jwks.configmap-interval": "1h" };
    await place.startOperator({ flags });
    await place.putSecret("signer", first);
    await place.putSecret("next", second);
    const spec = { certificateSecrets: ["next"] };
    await place.putConfig("site", spec);
    await place.published("site-jwks", [first, second]);
    await place.putConfig("site", spec, { [revokeAnnotation]: await kidOf(first) });
    await place.published("site-jwks", [second]);
    expect(await place.eventSays("site", "KeyRevoked")).toContain(await kidOf(first));
    await place.putSecret("signer", makeCertificate({ privateKey: first.privateKey }));
    await place.putConfig("site", spec, { [revokeAnnotation]: `${await kidOf(first)}, ${await kidOf(second)}` });
    await soon(async () => expect(await place.kidsIn("site-jwks")).toEqual([]));
    await place.conditionSays("site", "Ready", "False AllKeysRevoked");
  });

  test("taken away, lets the key return if its Secret still holds it", async () => {
    await using place = await publishingNamespace(cluster(), "unrevoke");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site", {}, { [revokeAnnotation]: await kidOf(first) });
    await place.conditionSays("site", "Published", "False AllKeysRevoked");
    await place.putConfig("site");
    await place.published("site-jwks", [first]);
  });
});

test("a Secret that goes takes nothing with it", { concurrent: true }, async () => {
  await using place = await publishingNamespace(cluster(), "gone");
  await place.startOperator();
  await place.putSecret("signer", first);
  await place.putConfig("site", { updateStrategy: "immediate" });
  await place.published("site-jwks", [first]);
  await cluster().client.delete(Secret, { namespace: place.namespace, name: "signer" });
  expect(await place.conditionSays("site", "Ready", "False SecretNotFound")).toContain("what was published stays published");
  await place.published("site-jwks", [first]);
});
