// Revocations: the key goes, under every name that it has, out of every document.
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import type { ConfigMap, Stored } from "@keyturn/runtime";
import { beforeEach, describe, expect, test } from "vitest";
import { makeCertificate, secretData } from "../../../test/certificates.ts";
import { JwksWorld, kidOfCertificate } from "../../../test/jwks-world.ts";

const hourMs = 3_600_000;
const t0 = Date.UTC(2026, 0, 1);
const first = makeCertificate();
const second = makeCertificate();

let world: JwksWorld;
const put = (certificate = first, name = "tls"): void => world.putSecret(name, secretData(certificate.certificate, certificate.privateKey));
const rename = (configMapName: string): void => void (world.spec = { ...world.spec, configMapName });
/** The `kid`s in the ConfigMap of this name. */
const kidsIn = (name: string): readonly string[] => {
  const published: Stored<ConfigMap> | undefined = world.objects.get(`configmaps/shop/${name}`);
  const { keys } = JSON.parse(published?.data?.["jwks.json"] ?? "") as { keys: readonly { kid: string }[] };
  return keys.map(({ kid }) => kid);
};

beforeEach(() => {
  world = new JwksWorld();
});
describe("a revocation", () => {
  test("takes the key under every kid that it has, and it does not come back under another", () => {
    world = new JwksWorld({ keyId: "CertificateSHA1" });
    put();
    world.run(t0);
    put(makeCertificate({ privateKey: first.privateKey }));
    world.run(t0 + hourMs);
    expect(world.kids).toHaveLength(2);
    world.revoked = [world.status?.lastKeyID ?? ""];
    expect(world.run(t0 + 2 * hourMs).notices.filter(({ reason }) => reason === "KeyRevoked")).toHaveLength(2);
    expect(world.kids).toEqual([]);
    expect(world.condition("Ready")).toBe("False AllKeysRevoked");
    put(makeCertificate({ privateKey: first.privateKey }));
    world.run(t0 + 3 * hourMs);
    expect(world.kids).toEqual([]);
    put(second);
    world.run(t0 + 4 * hourMs);
    put(makeCertificate({ privateKey: first.privateKey }));
    world.run(t0 + 5 * hourMs);
    expect(world.kids).toHaveLength(1);
    expect(world.condition("Ready")).toBe("False SigningKeyRevoked");
    expect(world.condition("Revoked")).toBe("True KeysRevoked");
  });

  test.each([
    ["thumbprint", kidOfCertificate(first)],
    ["x5t#S256", Buffer.from(new X509Certificate(first.certificate).fingerprint256.replaceAll(":", ""), "hex").toString("base64url")],
    ["SHA-256 fingerprint", new X509Certificate(first.certificate).fingerprint256],
    ["SHA-1 fingerprint", new X509Certificate(first.certificate).fingerprint],
  ])("names a key by its %s", (_what, name) => {
    world = new JwksWorld({ keyId: "CertificateSHA1" });
    put();
    world.run(t0);
    world.revoked = [name];
    world.run(t0 + 1);
    expect(world.kids).toEqual([]);
  });

  test("names nothing that is known: a condition says so, and nothing goes", () => {
    put();
    world.run(t0);
    const { kids } = world;
    world.revoked = ["mistyped"];
    expect(world.run(t0 + 1).notices).toMatchObject([{ type: "Warning", reason: "RevocationUnknown", message: expect.stringContaining("mistyped") }]);
    expect([world.condition("Revoked"), world.kids]).toEqual(["False RevocationUnknown", kids]);
    world.revoked = [];
    world.run(t0 + 2);
    expect(world.condition("Revoked")).toBeUndefined();
  });

  test("reaches documents under earlier names, also immutable ones", () => {
    put();
    world.run(t0);
    world.editConfigMap((configMap) => ({ ...configMap, immutable: true }));
    world.spec = { ...world.spec, configMapName: "keys2" };
    world.run(t0 + 1);
    const [kid = ""] = world.kids;
    world.revoked = [kid];
    world.run(t0 + 2);
    for (const name of ["keys", "keys2"]) {
      const published: Stored<ConfigMap> | undefined = world.objects.get(`configmaps/shop/${name}`);
      expect(JSON.parse(published?.data?.["jwks.json"] ?? "")).toEqual({ keys: [] });
    }
    expect(world.run(t0 + 3).writes).toEqual([]);
  });

  test("counts behind any number of other names", () => {
    put();
    world.run(t0);
    const [kid = ""] = world.kids;
    world.revoked = [...Array.from({ length: 5000 }, (_, index) => `x${index}`), kid];
    world.run(t0 + 1);
    expect([world.condition("Revoked"), world.kids]).toEqual(["False RevocationUnknown", []]);
  });

  test("of more names than are remembered withdraws all that they mean, and a condition says that not all are remembered", () => {
    put();
    world.run(t0);
    put(second);
    world.run(t0 + hourMs);
    const fingerprint = new X509Certificate(first.certificate).fingerprint256;
    const manyNames = Array.from({ length: 1000 }, (_, index) => fingerprint + ":".repeat(index));
    world.revoked = [...manyNames, kidOfCertificate(second)];
    world.run(t0 + 2 * hourMs);
    expect([world.condition("Revoked"), world.kids]).toEqual(["False RevocationsTooMany", []]);
    world.revoked = [fingerprint, kidOfCertificate(second)];
    world.run(t0 + 3 * hourMs);
    expect([world.condition("Revoked"), world.kids]).toEqual(["True KeysRevoked", []]);
  });

  test("reaches a key that only a document under an earlier name has", () => {
    world = new JwksWorld({ oldKeysTTL: "1h" });
    put();
    world.run(t0);
    const [kid = ""] = world.kids;
    rename("keys2");
    world.run(t0 + hourMs);
    put(second);
    world.run(t0 + 2 * hourMs);
    world.run(t0 + 4 * hourMs);
    expect([world.kids, kidsIn("keys")]).toEqual([[kidOfCertificate(second)], [kid]]);
    world.revoked = [kid];
    world.run(t0 + 5 * hourMs);
    expect([world.kids, kidsIn("keys"), world.condition("Revoked")]).toEqual([[kidOfCertificate(second)], [], "True KeysRevoked"]);
    // It is remembered, although nothing holds the key any more.
    put();
    world.run(t0 + 6 * hourMs);
    expect(world.kids).not.toContain(kid);
  });

  test("is not led to another key by who writes its name into a document", () => {
    put();
    world.run(t0);
    const { kids } = world;
    rename("keys2");
    world.run(t0 + 1);
    const forged = world.document?.replaceAll(kids[0] ?? "", "mistyped") ?? "";
    const earlier: Stored<ConfigMap> | undefined = world.objects.get("configmaps/shop/keys");
    if (earlier) world.objects.set("configmaps/shop/keys", Object.assign({}, earlier, { data: { "jwks.json": forged } }));
    world.revoked = ["mistyped"];
    world.run(t0 + 2);
    expect([kidsIn("keys"), world.kids, world.condition("Revoked")]).toEqual([["mistyped"], kids, "False RevocationUnknown"]);
  });

  test.each<readonly [string, () => void]>([
    ["a good spec", () => undefined],
    ["a spec that cannot be read", () => void (world.spec = { ...world.spec, oldKeysTTL: "30 days" })],
  ])("that is refused for one document holds up no other, and is told: %s", (_name, spoil) => {
    put();
    world.run(t0);
    const [kid = ""] = world.kids;
    for (const [index, name] of ["keys2", "keys3"].entries()) {
      rename(name);
      world.run(t0 + (index + 1) * hourMs);
    }
    expect(["keys", "keys2", "keys3"].map(kidsIn)).toEqual([[kid], [kid], [kid]]);
    spoil();
    world.refuse = (write) => (write.verb === "apply" && write.object.metadata.name === "keys" ? "quota exceeded" : undefined);
    world.revoked = [kid];
    const { notices } = world.run(t0 + 3 * hourMs);
    expect(["keys", "keys2", "keys3"].map(kidsIn)).toEqual([[kid], [], []]);
    expect(world.condition("Revoked")).toBe("False WithdrawalRefused");
    expect(notices).toContainEqual(
      expect.objectContaining({ type: "Warning", reason: "WithdrawalRefused", message: expect.stringMatching(/ConfigMap keys: quota exceeded/) }),
    );
    world.refuse = () => undefined;
    world.run(t0 + 4 * hourMs);
    expect(["keys", "keys2", "keys3"].map(kidsIn)).toEqual([[], [], []]);
    expect(world.condition("Revoked")).not.toBe("False WithdrawalRefused");
  });

  test.each<readonly [string, string, () => void]>([
    ["a spec that cannot be read", "False InvalidSpec", () => void (world.spec = { ...world.spec, oldKeysTTL: "30 days" })],
    [
      "a ConfigMap's name that is somebody else's",
      "False Conflict",
      () => {
        world.objects.set("configmaps/shop/taken", { metadata: { namespace: "shop", name: "taken", uid: "u-9", resourceVersion: "1" } });
        world.spec = { ...world.spec, configMapName: "taken" };
      },
    ],
  ])("is carried out at once whatever is wrong: %s", (_name, condition, spoil) => {
    put();
    world.run(t0);
    put(second);
    world.run(t0 + hourMs);
    const [live, retiring = ""] = world.kids;
    spoil();
    world.revoked = [retiring];
    const plan = world.run(t0 + hourMs + 1);
    expect(plan.notices).toMatchObject([{ reason: "KeyRevoked" }, {}]);
    const published: Stored<ConfigMap> | undefined = world.objects.get("configmaps/shop/keys");
    expect(JSON.parse(published?.data?.["jwks.json"] ?? "")).toMatchObject({ keys: [{ kid: live }] });
    expect(published?.data?.["jwks.json"]).not.toContain(retiring);
    expect(world.condition("Ready")).toBe(condition);
    expect(world.status?.keys?.map(({ kid }) => kid)).toEqual([live]);
    expect(world.run(t0 + hourMs + 2).writes).toEqual([]);
  });
});
