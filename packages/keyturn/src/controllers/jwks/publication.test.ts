// Which keys are published, when, and what is written down before: every key that signs, for its time, whatever happens.
import { beforeEach, describe, expect, test } from "vitest";
import { makeCertificate, secretData } from "../../../test/certificates.ts";
import { JwksWorld, kidOfCertificate, writesOf } from "../../../test/jwks-world.ts";
import { JWKSConfig } from "./api.ts";
import { problemWithJwks } from "./jwk.ts";
import { nextUpdateAt } from "./publication.ts";

const hourMs = 3_600_000;
const t0 = Date.UTC(2026, 0, 1);
const first = makeCertificate();
const second = makeCertificate();
const third = makeCertificate();

let world: JwksWorld;
const put = (certificate = first, name = "tls"): void => world.putSecret(name, secretData(certificate.certificate, certificate.privateKey));

beforeEach(() => {
  world = new JwksWorld();
});
describe("the ConfigMap's limit", () => {
  test("changes that nobody waits for are batched into the next turn, a minute after the last, also across a restart", () => {
    put();
    world.run(t0);
    world.makePodsAvailable();
    put(makeCertificate({ privateKey: first.privateKey }));
    const { document } = world;
    expect(world.run(t0 + 1000).nextAtMs).toBe(t0 + 60_000);
    expect(world.condition("Published")).toBe("False UpdateDeferred");
    world.restart();
    expect(world.run(t0 + 2000).nextAtMs).toBe(t0 + 60_000);
    expect(world.document).toBe(document);
    world.run(t0 + 60_000);
    expect(world.document).not.toBe(document);
    expect(world.condition("Published")).toBe("True Published");
  });

  test("a key that signs does not wait for it, however many come", () => {
    put();
    world.run(t0);
    put(second);
    expect(world.run(t0 + 1000)).toMatchObject({ urgent: true });
    put(third);
    world.run(t0 + 13_000);
    expect(world.status?.keys).toMatchObject([{ state: "Active" }, { state: "Retiring" }, { state: "Retiring" }]);
    expect(world.condition("Published")).toBe("True Published");
  });

  test("a revocation does not wait for it", () => {
    put();
    world.run(t0);
    const [kid = ""] = world.kids;
    put(second);
    world.revoked = [kid];
    const plan = world.run(t0 + 1000);
    expect(world.kids).not.toContain(kid);
    expect(world.kids).toHaveLength(1);
    expect(plan.notices).toContainEqual({
      type: "Warning",
      reason: "KeyRevoked",
      message: `key ${kid} of Secret tls was revoked and is no longer published`,
    });
  });

  test("revoking the only key leaves a valid document without keys, and says so", () => {
    put();
    world.run(t0);
    world.revoked = world.kids;
    world.run(t0 + 1000);
    expect(JSON.parse(world.document ?? "")).toEqual({ keys: [] });
    expect(world.condition("Ready")).toBe("False AllKeysRevoked");
  });

  test("what somebody edited or deleted is put right at once, with all its keys", () => {
    put();
    world.run(t0);
    put(second);
    world.run(t0 + hourMs);
    const { kids } = world;
    world.editConfigMap((configMap) => ({ ...configMap, data: { "jwks.json": "{}" } }));
    world.run(t0 + hourMs + 1);
    expect(world.kids).toEqual(kids);
    world.editConfigMap(undefined);
    world.run(t0 + hourMs + 2);
    expect(world.kids).toEqual(kids);
    expect(world.status?.nextRemoval).toBe("2026-01-31T01:00:00.000Z");
  });
});

describe("a key that signs is published or written down, whatever happens", () => {
  const [a, b, c] = [first, second, third].map(kidOfCertificate);

  test("it came and went before the operator could look", () => {
    put();
    world.run(t0);
    put(second);
    put(third);
    world.run(t0 + 1000);
    expect(world.kids).toEqual([c, a, b]);
  });

  test("the ConfigMap is refused while it comes and goes: Published is False, and it is made up for, also by another process", () => {
    put();
    world.run(t0);
    world.refuse = (write) => (write.part === "document" ? "no" : undefined);
    put(second);
    world.run(t0 + 1000);
    expect([world.condition("Published"), world.condition("Ready")]).toEqual(["False Forbidden", "False Forbidden"]);
    expect(world.status?.keys).toMatchObject([
      { kid: a, state: "Active" },
      { kid: b, state: "Pending" },
    ]);
    world.restart();
    world.putSecret("tls", secretData(third.certificate, third.privateKey), { away: true });
    world.run(t0 + 20_000);
    world.refuse = () => undefined;
    world.run(t0 + 40_000);
    expect(world.kids).toEqual([c, a, b]);
    expect(world.condition("Published")).toBe("True Published");
  });

  test.each([1, 2, 3, 4, 5, 6])("the operator is killed after write %i, and the Secret has another key when it is back", (writes) => {
    put();
    world.run(t0);
    put(second);
    world.run(t0 + 1000, writes);
    world.restart();
    world.putSecret("tls", secretData(third.certificate, third.privateKey), { away: true });
    world.run(t0 + 2000);
    expect(new Set(world.kids)).toEqual(new Set([a, b, c]));
    expect(world.status?.keys?.find(({ kid }) => kid === b)).toMatchObject({ state: "Retiring" });
  });

  test("it was retiring and is in use again when the operator is killed: its time counts from then", () => {
    put();
    world.run(t0);
    put(second);
    world.run(t0 + hourMs);
    put(first);
    world.run(t0 + 700 * hourMs, 1);
    world.putSecret("tls", secretData(second.certificate, second.privateKey), { away: true });
    world.run(t0 + 720 * hourMs);
    world.run(t0 + 1000 * hourMs);
    expect(world.kids).toContain(a);
  });

  test("it was retiring and is in use again while the ConfigMap is refused: its time counts from then", () => {
    put();
    world.run(t0);
    put(second);
    world.run(t0 + hourMs);
    world.refuse = (write) => (write.part === "document" ? "no" : undefined);
    put(third);
    world.run(t0 + 700 * hourMs);
    put(first);
    world.run(t0 + 700 * hourMs + 1000);
    put(third);
    world.run(t0 + 700 * hourMs + 2000);
    world.refuse = () => undefined;
    world.run(t0 + 722 * hourMs);
    expect(new Set(world.kids)).toEqual(new Set([a, b, c]));
    expect(world.condition("Published")).toBe("True Published");
  });

  test("it was retiring and is in use again when another is revoked: its time counts from then", () => {
    put();
    world.run(t0);
    put(second);
    world.run(t0 + hourMs);
    put(first);
    put(third);
    world.revoked = [b ?? ""];
    world.run(t0 + 700 * hourMs);
    world.run(t0 + 722 * hourMs);
    expect(world.kids).toEqual([c, a]);
  });

  test("clocks differ: nothing is removed until they agree, and a new key is published", () => {
    put();
    world.run(t0);
    put(second);
    world.run(t0 + hourMs);
    world.clockSkew = { reason: "ClockSkew", message: "the operator's clock is 2678400 s ahead of the API server's" };
    put(third);
    world.run(t0 + 31 * 24 * hourMs);
    expect(world.kids).toEqual([c, b, a]);
    expect(world.status?.conditions?.find(({ type }) => type === "Published")?.message).toContain("none is removed");
    world.clockSkew = undefined;
    world.run(t0 + 31 * 24 * hourMs + 60_000);
    expect(world.kids).toEqual([c, b]);
  });

  test("the ConfigMap is immutable: another takes its place, and pods that mounted it are replaced", () => {
    put();
    world.run(t0);
    const pods = JSON.stringify(world.deployment?.spec?.template);
    world.editConfigMap((configMap) => ({ ...configMap, immutable: true }));
    put(second);
    expect(writesOf(world.run(t0 + 1000))).toEqual(["delete ConfigMap keys", "apply ConfigMap keys", "apply Deployment site"]);
    expect(world.kids).toEqual([b, a]);
    expect(world.configMap?.immutable).toBeUndefined();
    expect(JSON.stringify(world.deployment?.spec?.template)).not.toBe(pods);
    expect(world.run(t0 + hourMs).writes).toEqual([]);
  });

  test("the ConfigMap is immutable and one of its files is no longer wanted: another takes its place", () => {
    world = new JwksWorld({ issuer: "https://tokens.example" });
    put(first);
    world.run(t0);
    world.editConfigMap((configMap) => ({ ...configMap, immutable: true }));
    const { issuer: _, ...spec } = world.spec;
    world.spec = spec;
    world.run(t0 + hourMs);
    expect(Object.keys(world.configMap?.data ?? {})).toEqual(["jwks.json"]);
    expect(world.condition("Published")).toBe("True Published");
  });

  test("the operator is killed between the two: nothing is lost", () => {
    put();
    world.run(t0);
    world.editConfigMap((configMap) => ({ ...configMap, immutable: true }));
    put(second);
    world.run(t0 + 1000, 2);
    expect(world.configMap).toBeUndefined();
    world.run(t0 + 2000);
    expect(world.kids).toEqual([b, a]);
  });
});

describe("a history that somebody forged", () => {
  test("is not believed: the foreign key goes at once, and all others stay", () => {
    put();
    world.run(t0);
    put(second);
    world.run(t0 + hourMs);
    const { kids } = world;
    const forged = new JwksWorld({ oldKeysTTL: "600000h" });
    for (const certificate of [third, first, second]) {
      forged.putSecret("tls", secretData(certificate.certificate, certificate.privateKey));
      forged.run(t0);
    }
    const annotations = forged.configMap?.metadata.annotations?.["keyturn.io/jwks-history"]?.replace(/"revision":\d+/, '"revision":100') ?? "";
    world.editConfigMap((configMap) => ({
      ...configMap,
      metadata: { ...configMap.metadata, annotations: { ...configMap.metadata.annotations, "keyturn.io/jwks-history": annotations } },
      data: forged.configMap?.data ?? {},
    }));
    world.run(t0 + hourMs + 1);
    expect(world.kids).toEqual(kids);
    expect(world.status).toMatchObject({ revision: 3, nextRemoval: "2026-01-31T01:00:00.000Z" });
  });

  test("is not believed either if it is what is to be written next, but for somebody else's certificate of the same key", () => {
    const stranger = makeCertificate({ commonName: "stranger", keyType: "p384" });
    const certified = makeCertificate({ privateKey: first.privateKey, issuer: stranger });
    const forged = new JwksWorld();
    for (const certificate of [certified, second]) {
      forged.putSecret("tls", secretData(certificate.certificate, certificate.privateKey));
      forged.run(t0);
    }
    put();
    world.run(t0);
    const own = world.document;
    world.refuse = ({ part }) => (part === "document" ? "no" : undefined);
    put(second);
    world.run(t0 + 1);
    world.refuse = () => undefined;
    const { data = {}, metadata } = forged.configMap ?? expect.fail("nothing was forged");
    world.editConfigMap((configMap) => ({ ...configMap, data, metadata: { ...configMap.metadata, annotations: { ...metadata.annotations } } }));
    world.run(t0 + 10_000);
    const { keys } = JSON.parse(world.document ?? "") as { keys: readonly unknown[] };
    expect(keys[1]).toEqual((JSON.parse(own ?? "") as { keys: readonly unknown[] }).keys[0]);
  });
});

describe("lastKeyID", () => {
  test("is the key that signs, and nothing while that is not known", () => {
    world = new JwksWorld({ certificateSecrets: ["next"] });
    put(second, "next");
    world.run(t0);
    expect(world.status?.lastKeyID).toBeUndefined();
    put(first);
    world.run(t0 + hourMs);
    expect(world.status?.lastKeyID).toBe(kidOfCertificate(first));
    world.putSecret("tls", undefined);
    world.run(t0 + 2 * hourMs);
    expect(world.status?.lastKeyID).toBe(kidOfCertificate(first));
  });

  test("is that key from when its Secret holds it, whichever source it was published from before, and however long the ConfigMap waits", () => {
    world = new JwksWorld({ certificateSecrets: ["next"] });
    put(first);
    put(second, "next");
    world.run(t0);
    put(second);
    world.run(t0 + 10);
    expect([world.condition("Published"), world.status?.lastKeyID]).toEqual(["False UpdateDeferred", kidOfCertificate(second)]);
  });

  test("is none while the key that signs is revoked: the one before it does not sign", () => {
    put(first);
    world.run(t0);
    world.revoked = [kidOfCertificate(second)];
    put(second);
    world.run(t0 + hourMs);
    expect([world.condition("Ready"), world.kids, world.status?.lastKeyID]).toEqual([
      "False SigningKeyRevoked",
      [kidOfCertificate(first)],
      undefined,
    ]);
  });
});

describe("another algorithm", () => {
  test("is another entry: the one before it stays for its time", () => {
    const rsa = makeCertificate({ keyType: "rsa2048" });
    put(rsa);
    world.run(t0);
    world.spec = { ...world.spec, algorithm: "PS256" };
    expect(world.run(t0 + hourMs).notices).toMatchObject([{ reason: "KeyRetired" }, { reason: "KeyAdded" }]);
    expect(JSON.parse(world.document ?? "")).toMatchObject({ keys: [{ alg: "PS256" }, { alg: "RS256" }] });
    expect(problemWithJwks(world.document ?? "")).toBeUndefined();
    world.run(t0 + 721 * hourMs);
    expect(JSON.parse(world.document ?? "")).toMatchObject({ keys: [{ alg: "PS256" }] });
  });
});

describe("an oldKeysTTL that was stored before there was a longest", () => {
  test.each(["99999999h", "9999999999h"])("%s: keys retire with a date that all can read, and nothing is written twice", (oldKeysTTL) => {
    world = new JwksWorld({ oldKeysTTL });
    for (const [index, certificate] of [first, second, third].entries()) {
      put(certificate);
      world.run(t0 + index * hourMs);
    }
    const { kids, configMap } = world;
    expect(kids).toHaveLength(3);
    const decoded = JWKSConfig.decode(world.object);
    expect(decoded).toMatchObject({ ok: true, object: { status: { keys: [{ state: "Active" }, { state: "Retiring" }, { state: "Retiring" }] } } });
    expect(world.status?.nextRemoval).toBe("2125-12-08T01:00:00.000Z");
    world.run(t0 + 3 * hourMs);
    expect(world.configMap).toEqual(configMap);
  });
});

describe("a setting that is there for a moment", () => {
  test.each([{ keepOldKeys: false }, { updateStrategy: "immediate" as const }, { oldKeysTTL: "0" }, { oldKeysTTL: "1s" }])(
    "%j takes no key that is retiring, and moves no date",
    (setting) => {
      put();
      world.run(t0);
      put(second);
      world.run(t0 + hourMs);
      const { kids, spec } = world;
      world.spec = { ...spec, ...setting };
      const plan = world.run(t0 + 2 * hourMs);
      expect(plan.notices).toEqual([]);
      world.spec = spec;
      world.run(t0 + 2 * hourMs + 2000);
      expect(world.kids).toEqual(kids);
      expect(world.status?.nextRemoval).toBe("2026-01-31T01:00:00.000Z");
    },
  );
});

describe("space", () => {
  test("over 1 MiB the oldest retired keys go early, with a condition", () => {
    world.configMapIntervalMs = 0;
    // A chain of large certificates fills the document quickly.
    const issuers = [makeCertificate({ commonName: "x".repeat(20_000) })];
    const large = (): string =>
      makeCertificate({ commonName: "y".repeat(20_000), issuer: issuers[0] ?? first }).certificate + (issuers[0]?.certificate ?? "");
    let runs = 0;
    while (world.condition("Truncated") === undefined && runs < 30) {
      world.putSecret("tls", secretData(large()));
      world.run(t0 + runs * 1000);
      runs += 1;
    }
    expect(world.condition("Truncated")).toBe("True DocumentTooLarge");
    expect(problemWithJwks(world.document ?? "")).toBeUndefined();
    const since = world.status?.keys?.map((key) => key.since) ?? [];
    expect(since).not.toContain(new Date(t0).toISOString());
    expect(since).toHaveLength(runs - 1);
  });

  test("maxKeys is kept, without a condition: it was asked for", () => {
    world = new JwksWorld({ maxKeys: 2 });
    world.configMapIntervalMs = 0;
    for (const [index, certificate] of [first, second, third].entries()) {
      put(certificate);
      world.run(t0 + index);
    }
    expect(world.kids).toHaveLength(2);
    expect(world.condition("Truncated")).toBeUndefined();
  });
});

describe("ConfigMap updates", () => {
  test("the first is at once, the next after the interval, and none waits for a date in the future", () => {
    expect(nextUpdateAt(undefined, 60_000, 5)).toBe(5);
    expect(nextUpdateAt(5, 60_000, 6)).toBe(60_005);
    expect(nextUpdateAt(5, 0, 6)).toBe(5);
    expect(nextUpdateAt(999_999, 60_000, 6)).toBe(6);
  });
});
