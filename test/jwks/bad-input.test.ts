// Secrets and specs that are no good: each is reported by its own reason, once, and what was published stays.
import { Buffer } from "node:buffer";
import { ConfigMap, Event } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { JWKS } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { type PublishingNamespace, publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();
const good = makeCertificate();
const encoded = (text: string): string => Buffer.from(text).toString("base64");

/** What a Secret holds after it has held a good certificate, and perhaps what else is asked for. */
interface BadSecret {
  readonly what: string;
  readonly reason: string;
  readonly data: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

const secrets: readonly BadSecret[] = [
  { what: "no-certificate", reason: "CertificateMissing", data: { "tls.key": encoded("x") } },
  { what: "empty", reason: "CertificateMissing", data: { "tls.crt": "" } },
  { what: "garbage", reason: "CertificateInvalid", data: { "tls.crt": encoded("garbage") } },
  { what: "cut-off", reason: "CertificateInvalid", data: { "tls.crt": encoded(good.certificate.slice(0, 200)) } },
  {
    what: "broken-der",
    reason: "CertificateInvalid",
    data: { "tls.crt": encoded("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") },
  },
  { what: "huge", reason: "CertificateTooLarge", data: { "tls.crt": encoded("x".repeat(200_000)) } },
  { what: "other-key", reason: "KeyMismatch", data: secretData(good.certificate, makeCertificate().privateKey) },
  { what: "expired", reason: "CertificateExpired", data: secretData(makeCertificate({ notAfterMs: Date.UTC(2024, 0) }).certificate) },
  { what: "weak-rsa", reason: "KeyUnsupported", data: secretData(makeCertificate({ keyType: "rsa1024" }).certificate) },
  { what: "bitcoin-curve", reason: "KeyUnsupported", data: secretData(makeCertificate({ keyType: "secp256k1" }).certificate) },
  { what: "ed448", reason: "KeyUnsupported", data: secretData(makeCertificate({ keyType: "ed448" }).certificate) },
  { what: "algorithm", reason: "AlgorithmMismatch", data: secretData(good.certificate), spec: { algorithm: "RS256" } },
];

describe("a Secret that turns bad", { concurrent: true }, () => {
  let place: PublishingNamespace;
  beforeAll(async () => {
    place = await publishingNamespace(cluster(), "bad");
    await place.startOperator();
  });
  afterAll(() => place[Symbol.asyncDispose]());

  test.each(secrets)("$what: $reason in the condition and an Event, and what was published stays", async ({ what, reason, data, spec }) => {
    await place.putSecret(what, good);
    await place.putConfig(what, { certificateSecret: what });
    await place.published(`${what}-jwks`, [good]);
    const before = await place.get(ConfigMap, `${what}-jwks`);
    await place.putSecretData(what, data);
    if (spec) await place.putConfig(what, { certificateSecret: what, ...spec });
    const message = await place.conditionSays(what, "Published", `False ${reason}`);
    expect(message).toContain(`Secret ${what}: `);
    expect(message).toContain("what was published stays published");
    await place.conditionSays(what, "Ready", `False ${reason}`);
    expect(await place.eventSays(what, reason)).toBe(message);
    expect(await place.get(ConfigMap, `${what}-jwks`)).toEqual(before);

    await place.putConfig(what, { certificateSecret: what });
    await place.putSecret(what, good);
    await place.conditionSays(what, "Ready", "True Ready");
  });

  test("is reported once, however often it changes without getting better", async () => {
    await place.putConfig("twice", { certificateSecret: "twice" });
    for (const nonsense of ["a", "b", "c"]) {
      await place.putSecretData("twice", { "tls.crt": encoded(nonsense) });
      await place.conditionSays("twice", "Ready", "False CertificateInvalid");
    }
    await place.putSecret("twice", good);
    await place.published("twice-jwks", [good]);
    await place.eventSays("twice", "KeyAdded");
    const { items } = await cluster().client.list(Event, { namespace: place.namespace, fields: "reason=CertificateInvalid,regarding.name=twice" });
    expect(items).toHaveLength(1);
    expect(items[0]?.series).toBeUndefined();
  });

  test("never gets its private key into a condition, an Event or the log", async () => {
    await using quiet = await publishingNamespace(cluster(), "private");
    const running = await quiet.startOperator();
    const other = makeCertificate();
    const data = secretData(good.certificate, other.privateKey);
    await quiet.putSecretData("signer", data);
    await quiet.putConfig("site");
    await quiet.conditionSays("site", "Ready", "False KeyMismatch");
    await quiet.eventSays("site", "KeyMismatch");
    const { items } = await cluster().client.list(Event, { namespace: quiet.namespace });
    const said = JSON.stringify([items, await quiet.allObjects(), running.logLines, await running.metrics()]);
    const lines = other.privateKey.export({ type: "pkcs8", format: "pem" }).toString().split("\n").slice(1, -2);
    for (const line of lines) expect(said).not.toContain(line);
    expect(said).not.toContain(data["tls.key"]);
  });
});

describe("a certificate that is unusual but good", { concurrent: true }, () => {
  test("not valid yet: published, because verifiers should know a key before it signs", async () => {
    await using place = await publishingNamespace(cluster(), "early");
    await place.startOperator();
    const early = makeCertificate({ notBeforeMs: Date.UTC(2045, 0) });
    await place.putSecret("signer", early);
    await place.putConfig("site");
    await place.published("site-jwks", [early]);
    await place.conditionSays("site", "Ready", "True Ready");
  });

  test("in a file of 100 kB: published", async () => {
    await using place = await publishingNamespace(cluster(), "large");
    await place.startOperator();
    await place.putSecret("signer", { ...good, certificate: `${"words\n".repeat(17_000)}${good.certificate}` });
    await place.putConfig("site");
    await place.published("site-jwks", [good]);
  });
});

describe("a spec that is no good", { concurrent: true }, () => {
  test.each([
    ["two names that are one", { nginxConfigMapName: "site-jwks" }, "must differ"],
    ["a duration that is none", { oldKeysTTL: "soon" }, "oldKeysTTL"],
    ["a strategy that is none", { updateStrategy: "later" }, "updateStrategy"],
    ["an algorithm that is none", { algorithm: "HS256" }, "algorithm"],
    ["an origin that is none", { nginx: { corsOrigins: ['https://a.example"; }'] } }, "corsOrigins"],
  ])("%s: refused by the API server, with the field named", async (_what, spec, words) => {
    await using place = await publishingNamespace(cluster(), "refused");
    await expect(place.putConfig("site", spec)).rejects.toMatchObject({ body: { message: expect.stringContaining(words) } });
  });

  test("of a JWKS, whose schema checks nothing: InvalidSpec, what was published stays, and it goes on when it is mended", async () => {
    await using place = await publishingNamespace(cluster(), "invalid");
    await place.startOperator();
    await place.putSecret("signer", makeCertificate());
    await place.putJwks("site");
    await place.conditionSays("site", "Ready", "True Ready", JWKS);
    const before = await place.get(ConfigMap, "site-jwks");
    await place.putJwks("site", { oldKeysTTL: "soon" });
    expect(await place.conditionSays("site", "Ready", "False InvalidSpec", JWKS)).toContain('oldKeysTTL "soon" is not a duration');
    await place.eventSays("site", "InvalidSpec");
    expect(await place.get(ConfigMap, "site-jwks")).toEqual(before);
    await place.putJwks("site");
    await soon(async () => expect((await place.condition("site", "Ready", JWKS))?.status).toBe("True"));
  });

  test("holds up no revocation", async () => {
    await using place = await publishingNamespace(cluster(), "revoked");
    await place.startOperator();
    await place.putSecret("signer", makeCertificate());
    await place.putJwks("site");
    await place.conditionSays("site", "Ready", "True Ready", JWKS);
    await place.putSecret("signer", makeCertificate());
    await soon(async () => expect(await place.kidsIn("site-jwks")).toHaveLength(2));
    const [live, retiring] = (await place.kidsIn("site-jwks")) ?? [];
    await place.putJwks("site", { oldKeysTTL: "30 days" }, { "keyturn.io/revoke": `${retiring}` });
    await place.conditionSays("site", "Ready", "False InvalidSpec", JWKS);
    await soon(async () => expect(await place.kidsIn("site-jwks")).toEqual([live]));
    expect(await place.eventSays("site", "KeyRevoked")).toContain(`${retiring}`);
    await place.putJwks("site", {}, { "keyturn.io/revoke": `${retiring}` });
    await place.conditionSays("site", "Ready", "True Ready", JWKS);
    expect(await place.kidsIn("site-jwks")).toEqual([live]);
  });
});
