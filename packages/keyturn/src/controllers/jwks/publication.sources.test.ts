// Keys from other places than a certificate in tls.crt: public keys alone, and documents of others.
import { Buffer } from "node:buffer";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import type { ConfigMap, Stored } from "@keyturn/runtime";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify, SignJWT } from "jose";
import { beforeEach, describe, expect, test } from "vitest";
import { makeCertificate, secretData } from "../../../test/certificates.ts";
import { JwksWorld, kidOfCertificate } from "../../../test/jwks-world.ts";
import { problemWithJwks } from "./jwk.ts";
import { keepMerged } from "./config-map.ts";
import { planJwks } from "./plan.ts";

const hourMs = 3_600_000;
const t0 = Date.UTC(2026, 0, 1);
const first = makeCertificate();
const second = makeCertificate();
const third = makeCertificate();

/** A ConfigMap of others that was given our label. */
const handedOver = (document: string): Stored<ConfigMap> => ({
  data: { "jwks.json": document },
  metadata: {
    namespace: "shop",
    name: "keys",
    uid: "u",
    resourceVersion: "1",
    labels: { "app.kubernetes.io/managed-by": "keyturn" },
    annotations: { "keyturn.io/owner": "jwksconfigs.keyturn.io/shop/site" },
  },
});

let world: JwksWorld;
const put = (certificate = first, name = "tls"): void => world.putSecret(name, secretData(certificate.certificate, certificate.privateKey));

beforeEach(() => {
  world = new JwksWorld();
});

describe("other sources", () => {
  const spki = (certificate: typeof first): string => createPublicKey(certificate.privateKey).export({ type: "spki", format: "pem" }).toString();

  test.each([
    ["tls.pub", spki(second)],
    ["public.pem", spki(second)],
    ["ca.crt", second.certificate],
  ])("a Secret with %s alone gives its key", (entry, text) => {
    world.putSecret("tls", { [entry]: Buffer.from(text).toString("base64") });
    world.run(t0);
    expect(world.kids).toEqual([kidOfCertificate(second)]);
    expect(problemWithJwks(world.document ?? "")).toBeUndefined();
    put(third);
    world.run(t0 + hourMs);
    expect(world.kids).toEqual([kidOfCertificate(third), kidOfCertificate(second)]);
  });

  test("an empty tls.crt is one that is missing, whatever else is there", () => {
    world.putSecret("tls", { "tls.crt": "", "ca.crt": Buffer.from(second.certificate).toString("base64") });
    world.run(t0);
    expect(world.condition("Ready")).toBe("False CertificateMissing");
  });

  test("an RSA-PSS key is published with the algorithm that its parameters allow", () => {
    const { privateKey } = generateKeyPairSync("rsa-pss", { modulusLength: 2048, hashAlgorithm: "sha384", mgf1HashAlgorithm: "sha384" });
    world.putSecret("tls", { "tls.pub": Buffer.from(createPublicKey(privateKey).export({ type: "spki", format: "pem" })).toString("base64") });
    world.run(t0);
    expect(JSON.parse(world.document ?? "")).toMatchObject({ keys: [{ kty: "RSA", alg: "PS384" }] });
  });

  test("a key that was in a merged ConfigMap for a moment is published as one that was replaced", () => {
    world = new JwksWorld({ mergedConfigMaps: ["legacy"] });
    put();
    const entry = ({ privateKey }: typeof second, kid: string) => ({ ...createPublicKey(privateKey).export({ format: "jwk" }), kid, use: "sig" });
    world.putMerged("legacy", JSON.stringify({ keys: [entry(second, "x")] }));
    world.run(t0);
    world.putMerged("legacy", JSON.stringify({ keys: [entry(third, "y")] }));
    world.putMerged("legacy", JSON.stringify({ keys: [entry(second, "x")] }));
    world.run(t0 + 1000);
    expect(world.status?.keys?.map(({ kid, state }) => `${kid} ${state}`)).toEqual([`${kidOfCertificate(first)} Active`, "x Active", "y Retiring"]);
  });

  test("what was too much to remember is told", () => {
    put();
    const passed = new Map([["tls", { states: [], missed: 3, upTo: 0 }]]);
    const { events = [] } = planJwks({ ...world.observe(), passed }, { nowMs: t0, refused: new Map() });
    expect(events).toMatchObject([{ type: "Warning", reason: "KeysMissed", message: expect.stringMatching(/^Secret tls .* 3 of its states/) }]);
  });

  test("a ConfigMap of others is merged, its keys retire when they leave it, and stay while it is gone", () => {
    world = new JwksWorld({ mergedConfigMaps: ["legacy"] });
    const entry = (certificate: typeof first, kid: string): object => ({ ...createPublicKey(certificate.privateKey).export({ format: "jwk" }), kid });
    put();
    world.run(t0);
    expect(world.condition("Published")).toBe("False SourceNotFound");
    world.merged.set("legacy", JSON.stringify({ keys: [entry(second, "x"), entry(third, "y")] }));
    world.run(t0 + hourMs);
    expect(world.kids).toEqual([kidOfCertificate(first), "x", "y"]);
    expect(world.status?.lastKeyID).toBe(kidOfCertificate(first));
    world.merged.set("legacy", JSON.stringify({ keys: [entry(third, "y")] }));
    world.run(t0 + 2 * hourMs);
    expect(world.status?.keys).toMatchObject([{}, { kid: "y", state: "Active", source: "configmap/legacy" }, { kid: "x", state: "Retiring" }]);
    world.merged.delete("legacy");
    world.run(t0 + 3 * hourMs);
    expect(world.kids).toHaveLength(3);
  });

  test("a ConfigMap of others takes no name from a key that is published, and leaves no key twice for verifiers to choose from", async () => {
    world = new JwksWorld({ mergedConfigMaps: ["legacy", "hostile"] });
    const entry = ({ privateKey }: typeof first, kid: string, alg?: string): object => ({
      ...createPublicKey(privateKey).export({ format: "jwk" }),
      kid,
      ...(alg !== undefined && { alg }),
    });
    const stranger = makeCertificate();
    const merge = (name: string, ...keys: readonly object[]): void => world.putMerged(name, JSON.stringify({ keys }));
    const verifies = async (...certificates: readonly (typeof first)[]): Promise<void> => {
      const keys = createLocalJWKSet(JSON.parse(world.document ?? "") as JSONWebKeySet);
      for (const certificate of certificates) {
        const token = await new SignJWT({}).setProtectedHeader({ alg: "ES256", kid: kidOfCertificate(certificate) }).sign(certificate.privateKey);
        await jwtVerify(token, keys);
      }
    };
    put();
    merge("legacy", entry(first, kidOfCertificate(first)), entry(third, "x"));
    // The name of a key that is yet to come.
    merge("hostile", entry(stranger, kidOfCertificate(second), "ES256"));
    world.run(t0);
    await verifies(first);
    put(second);
    world.run(t0 + hourMs);
    await verifies(second, first);
    merge(
      "hostile",
      entry(stranger, kidOfCertificate(first), "ES256"),
      entry(stranger, kidOfCertificate(second)),
      entry(stranger, "x"),
      entry(stranger, "y"),
    );
    world.run(t0 + 2 * hourMs);
    await verifies(second, first);
    const published = JSON.parse(world.document ?? "") as { readonly keys: readonly { readonly kid: string; readonly x: string }[] };
    expect(published.keys.map(({ kid }) => kid)).toEqual([kidOfCertificate(second), kidOfCertificate(first), "x", "y"]);
    expect(published.keys[2]?.x).toBe(createPublicKey(third.privateKey).export({ format: "jwk" }).x);
    expect(world.condition("Published")).toBe("False SourceInvalid");
    expect(world.status?.conditions?.find(({ type }) => type === "Published")?.message).toContain("ConfigMap hostile: other keys are published as ");
  });

  test.each([
    ["more keys than are merged", (keys: readonly object[]) => JSON.stringify({ keys }), "its JWKS has more than 100 keys"],
    [
      "a longer text than is merged",
      (keys: readonly object[]) => JSON.stringify({ keys: keys.slice(1), pad: "x".repeat(262_144) }),
      "or one of more than 262144 bytes",
    ],
  ])("a ConfigMap of others with %s gives none, and says so; what it gave before stays", (_what, document, message) => {
    world = new JwksWorld({ mergedConfigMaps: ["legacy"] });
    const jwk = createPublicKey(second.privateKey).export({ format: "jwk" });
    const keys = Array.from({ length: 101 }, (_, index) => ({ ...jwk, kid: `k${index}` }));
    const text = keepMerged({ data: { "jwks.json": document(keys) } });
    put();
    world.putMerged("legacy", JSON.stringify({ keys: keys.slice(0, 100) }));
    world.run(t0);
    expect(world.kids).toHaveLength(101);
    world.putMerged("legacy", text);
    world.run(t0 + hourMs);
    expect(world.condition("Published")).toBe("False SourceInvalid");
    expect(world.status?.conditions?.find(({ type }) => type === "Published")?.message).toContain(message);
    expect(world.kids).toHaveLength(101);
  });

  test("a document that is taken over keeps two keys of one name, and says how many entries are more than are read", () => {
    const plain = (certificate: typeof first): object => createPublicKey(certificate.privateKey).export({ format: "jwk" });
    const keys = [{ ...plain(second), kid: "one" }, { ...plain(third), kid: "one" }, ...Array.from({ length: 2000 }, () => ({}))];
    world.objects.set("configmaps/shop/keys", handedOver(JSON.stringify({ keys })));
    put();
    const { notices } = world.run(t0);
    expect(world.kids).toEqual([kidOfCertificate(first), "one", "one"]);
    expect(notices.find(({ reason }) => reason === "EntryLeftOut")?.message).toContain("2000 entries");
    world.run(t0 + hourMs);
    expect(new Set(world.status?.keys?.map(({ thumbprint }) => thumbprint)).size).toBe(3);
  });

  test("a document that is taken over keeps keys without certificates and below 2048 bits for their time, with a warning", () => {
    const small = createPublicKey(makeCertificate({ keyType: "rsa1024" }).privateKey).export({ format: "jwk" });
    const plain = createPublicKey(second.privateKey).export({ format: "jwk" });
    const keys = [
      { ...small, kid: "small", alg: "RS256" },
      { ...plain, kid: "plain" },
      { kty: "oct", k: "AAAA" },
    ];
    world.objects.set("configmaps/shop/keys", handedOver(JSON.stringify({ keys })));
    put();
    const { notices } = world.run(t0);
    expect(world.kids).toEqual([kidOfCertificate(first), "small", "plain"]);
    expect(notices.filter(({ type }) => type === "Warning").map(({ reason }) => reason)).toEqual(["KeyAdopted", "KeyAdopted", "EntryLeftOut"]);
    world.run(t0 + 719 * hourMs);
    expect(world.kids).toHaveLength(3);
    world.run(t0 + 721 * hourMs);
    expect(world.kids).toEqual([kidOfCertificate(first)]);
  });
});
