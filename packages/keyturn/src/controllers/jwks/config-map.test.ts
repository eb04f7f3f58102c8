// The two copies of the history: which one counts, and what is believed of a document that somebody touched.
import { Buffer } from "node:buffer";
import { createPublicKey } from "node:crypto";
import { type ConfigMap, maxDurationMs } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { makeCertificate, secretData } from "../../../test/certificates.ts";
import { JwksWorld } from "../../../test/jwks-world.ts";
import { keyStatusSchema } from "./api.ts";
import { historyAnnotation, keyStatusesOf, recoverHistory } from "./config-map.ts";

const t0 = Date.UTC(2026, 0, 1);

/** An object after one rotation: one key active, one retiring. */
function rotated(): { world: JwksWorld; configMap: ConfigMap } {
  const world = new JwksWorld();
  world.putSecret("tls", secretData(makeCertificate().certificate));
  world.run(t0);
  world.putSecret("tls", secretData(makeCertificate({ keyType: "ed25519" }).certificate));
  world.run(t0 + 3_600_000);
  if (!world.configMap) throw new Error("the test's own ConfigMap was not written");
  return { world, configMap: world.configMap };
}

function withRevision(configMap: ConfigMap, revision: number): ConfigMap {
  const annotation = (configMap.metadata.annotations?.[historyAnnotation] ?? "").replace(/"revision":\d+/, `"revision":${revision}`);
  return { ...configMap, metadata: { ...configMap.metadata, annotations: { [historyAnnotation]: annotation } } };
}

describe("recoverHistory", () => {
  test("both copies say the same", () => {
    const { world, configMap } = rotated();
    const { origin, ...history } = recoverHistory(configMap, undefined);
    expect(history).toMatchObject({
      revision: 2,
      updatedAtMs: t0 + 3_600_000,
      keys: [{ standing: { state: "Active" } }, { standing: { state: "Retiring" } }],
    });
    expect(recoverHistory(configMap, world.status)).toEqual({ ...history, origin: "status" });
    expect(origin).toBe("ownDocument");
  });

  test("nothing is the history of nothing", () => {
    expect(recoverHistory(undefined, undefined)).toMatchObject({ origin: "nothing", revision: 0, keys: [], pending: [] });
  });

  test("the status counts, whatever a ConfigMap says: more people may write that", () => {
    const { world, configMap } = rotated();
    const behind = { ...world.status, revision: 1, keys: [] };
    expect(recoverHistory(withRevision(configMap, 100), behind)).toMatchObject({ origin: "status", revision: 1, keys: [] });
  });

  test.each([
    ["a document that is gone", (configMap: ConfigMap) => ({ ...configMap, data: {} }), 0],
    ["a revision that cannot be counted on from", (configMap: ConfigMap) => withRevision(configMap, Number.MAX_SAFE_INTEGER), 2],
    ["an annotation that is gone", (configMap: ConfigMap) => ({ ...configMap, metadata: { ...configMap.metadata, annotations: {} } }), 2],
  ])("%s of an object that was made again: what there is of keys is taken over", (_name, edit, count) => {
    const { configMap } = rotated();
    const found = recoverHistory(edit(configMap), undefined);
    expect(found).toMatchObject({ origin: "foreignDocument", revision: 1 });
    expect(found.keys).toHaveLength(count);
  });

  test("a removal beyond the year 9999, which once could be written, is brought within 100 years, and no key is lost", () => {
    const { configMap } = rotated();
    const annotation = configMap.metadata.annotations?.[historyAnnotation] ?? "";
    const beyond = annotation.replace(/"removeAt":"[^"]*"/, '"removeAt":"+013434-01-01T00:00:00.000Z"');
    const { keys } = recoverHistory({ ...configMap, metadata: { ...configMap.metadata, annotations: { [historyAnnotation]: beyond } } }, undefined);
    const [, retiring] = recoverHistory(configMap, undefined).keys;
    const replacedAtMs = t0 + 3_600_000;
    expect(keys).toMatchObject([{}, { ...retiring, standing: { state: "Retiring", replacedAtMs, removeAtMs: replacedAtMs + maxDurationMs } }]);
  });

  test("a replacement in the last year of all is brought so far back that the removal is still a date", () => {
    const { configMap } = rotated();
    const annotation = (configMap.metadata.annotations?.[historyAnnotation] ?? "")
      .replace(/"replacedAt":"[^"]*"/, '"replacedAt":"9999-06-01T00:00:00.000Z"')
      .replace(/"removeAt":"[^"]*"/, '"removeAt":"+010050-01-01T00:00:00.000Z"');
    const forged = { ...configMap, metadata: { ...configMap.metadata, annotations: { [historyAnnotation]: annotation } } };
    const { keys } = recoverHistory(forged, undefined);
    const statuses = keyStatusesOf({ ...recoverHistory(forged, undefined), keys });
    for (const status of statuses) expect(() => keyStatusSchema.parse(status)).not.toThrow();
    expect(keys).toMatchObject([{}, { standing: { state: "Retiring" } }]);
  });

  test.each([
    ["an edited document", (configMap: ConfigMap) => ({ ...configMap, data: { "jwks.json": `${configMap.data?.["jwks.json"]}\n` } })],
    [
      "an edited annotation",
      (configMap: ConfigMap) => ({ ...configMap, metadata: { ...configMap.metadata, annotations: { [historyAnnotation]: "{" } } }),
    ],
  ])("%s of an object that was made again: the keys of the JWKS document are adopted, and none is lost", (_name, edit) => {
    const { configMap } = rotated();
    const kids = recoverHistory(configMap, undefined).keys.map(({ jwk }) => jwk.kid);
    expect(recoverHistory(edit(configMap), undefined)).toMatchObject({ revision: 1, keys: kids.map((kid) => ({ jwk: { kid }, source: "" })) });
  });

  test("keys of a status that cannot be read are left out", () => {
    const { world } = rotated();
    const keys = world.status?.keys?.map((key, index) => (index === 0 ? { ...key, certificates: ["AAAA"] } : key)) ?? [];
    expect(recoverHistory(undefined, { ...world.status, keys }).keys).toHaveLength(1);
  });
});

describe("a ConfigMap of rieset/jwks-operator that was handed over", () => {
  const old = makeCertificate({ keyType: "rsa2048" });
  const x5c = [Buffer.from(old.certificate.replaceAll(/-----.*-----|\n/g, ""), "base64").toString("base64")];
  const document = JSON.stringify({
    keys: [
      { ...createPublicKey(old.privateKey).export({ format: "jwk" }), use: "sig", key_ops: ["verify"], alg: "RS512", kid: "3c11eb5522c3f8b1", x5c },
    ],
  });
  const binaryData = { "jwks.json": Buffer.from(document).toString("base64") };
  const metadata = {
    namespace: "shop",
    name: "keys",
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: "2025-06-01T00:00:00Z",
    labels: { "app.kubernetes.io/managed-by": "keyturn" },
    annotations: { "keyturn.io/owner": "jwksconfigs.keyturn.io/shop/site" },
  };

  test("its keys stay published under their kid and alg, and retire when ours appears", () => {
    const world = new JwksWorld();
    world.objects.set("configmaps/shop/keys", Object.assign({ metadata }, { binaryData }));
    world.putSecret("tls", secretData(makeCertificate().certificate));
    world.run(t0);
    const published = Buffer.from(world.configMap?.binaryData?.["jwks.json"] ?? "", "base64").toString();
    expect(JSON.parse(published)).toMatchObject({ keys: [{ kty: "EC" }, { kid: "3c11eb5522c3f8b1", alg: "RS512", x5c }] });
    expect(published).not.toContain("key_ops");
    expect(world.status?.keys).toMatchObject([
      { state: "Active" },
      { state: "Retiring", since: "2025-06-01T00:00:00.000Z", removeAt: new Date(t0 + 720 * 3_600_000).toISOString() },
    ]);
  });

  test("the JWKS document stays in the field where it is: the API server allows it in one only", () => {
    const world = new JwksWorld();
    world.objects.set("configmaps/shop/keys", Object.assign({ metadata }, { binaryData }));
    world.putSecret("tls", secretData(makeCertificate().certificate));
    world.run(t0);
    expect(world.configMap).not.toHaveProperty("data");
  });
});
