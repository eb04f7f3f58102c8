// Whole plans: what is written and what is said, from the first run to deletion.
import { Buffer } from "node:buffer";
import { ConfigMap, type Stored } from "@keyturn/runtime";
import { beforeEach, describe, expect, test } from "vitest";
import { makeCertificate, secretData } from "../../../test/certificates.ts";
import { JwksWorld } from "../../../test/jwks-world.ts";
import { JWKSConfig } from "./api.ts";
import { problemWithJwks } from "./jwk.ts";
import { claimKey } from "./name-claims.ts";
import { nextUpdateAt, planJwks } from "./plan.ts";

const hourMs = 3_600_000;
const t0 = Date.UTC(2026, 0, 1);
const first = makeCertificate();
const second = makeCertificate();
const third = makeCertificate();

let world: JwksWorld;
const put = (certificate = first, name = "tls"): void => world.putSecret(name, secretData(certificate.certificate, certificate.privateKey));
const writesOf = (plan: ReturnType<JwksWorld["run"]>): readonly string[] =>
  plan.writes.map((write) => `${write.verb} ${write.kind.kind} ${write.verb === "apply" ? write.object.metadata.name : write.name.name}`);
function makePodsAvailable(): void {
  const deployment = world.objects.get("deployments.apps/shop/site");
  if (deployment) world.objects.set("deployments.apps/shop/site", Object.assign({}, deployment, { status: { availableReplicas: 1 } }));
}

beforeEach(() => {
  world = new JwksWorld();
});

describe("from nothing", () => {
  test("writes the JWKS document first, then what serves it", () => {
    put();
    const plan = world.run(t0);
    expect(writesOf(plan)).toEqual(["apply ConfigMap keys", "apply ConfigMap nginx", "apply Deployment site", "apply Service site"]);
    expect(problemWithJwks(world.document ?? "")).toBeUndefined();
    expect(plan.notices).toMatchObject([{ type: "Normal", reason: "KeyAdded" }]);
  });

  test("is published at once and ready when pods are", () => {
    put();
    world.run(t0);
    expect([world.condition("Ready"), world.condition("Published"), world.condition("Served")]).toEqual([
      "False PodsNotAvailable",
      "True Published",
      "False PodsNotAvailable",
    ]);
    makePodsAvailable();
    world.run(t0 + 5000);
    expect([world.condition("Ready"), world.condition("Served")]).toEqual(["True Ready", "True Serving"]);
  });

  test("is ready without pods if none are asked for", () => {
    const { nginxConfigMapName: _, ...spec } = world.spec;
    world.spec = spec;
    put();
    expect(writesOf(world.run(t0))).toEqual(["apply ConfigMap keys"]);
    expect([world.condition("Ready"), world.condition("Served")]).toEqual(["True Ready", undefined]);
  });

  test("reports what is documented", () => {
    put();
    world.run(t0);
    put(second);
    world.run(t0 + hourMs);
    const [active, retiring] = world.kids;
    expect(world.status).toMatchObject({
      observedGeneration: 1,
      lastUpdateTime: "2026-01-01T01:00:00.000Z",
      lastKeyID: active,
      keyCount: 2,
      nginxConfigUpdated: "2026-01-01T00:00:00.000Z",
      nextRemoval: "2026-01-31T01:00:00.000Z",
      keys: [
        { kid: active, state: "Active", source: "tls", since: "2026-01-01T01:00:00.000Z", certificateExpires: "2049-01-01T00:00:00.000Z" },
        { kid: retiring, state: "Retiring", source: "tls", since: "2026-01-01T00:00:00.000Z", removeAt: "2026-01-31T01:00:00.000Z" },
      ],
    });
  });

  test("a missing Secret: nothing is written, and it says so", () => {
    const plan = world.run(t0);
    expect(plan.writes).toEqual([]);
    expect(plan.notices).toEqual([{ type: "Warning", reason: "SecretNotFound", message: "Secret tls: the Secret does not exist" }]);
    expect(world.condition("Ready")).toBe("False SecretNotFound");
  });
});

describe("when a Secret goes wrong", () => {
  test.each([
    ["SecretNotFound", undefined],
    ["CertificateMissing", {}],
    ["CertificateInvalid", { "tls.crt": Buffer.from("garbage").toString("base64") }],
    ["KeyMismatch", secretData(second.certificate, third.privateKey)],
    ["CertificateExpired", secretData(makeCertificate({ notAfterMs: t0 }).certificate)],
  ])("%s: what was published stays, and it is reported once", (reason, data) => {
    put();
    world.run(t0);
    const { document } = world;
    world.putSecret("tls", data);
    const plan = world.run(t0 + hourMs);
    expect(world.document).toBe(document);
    expect(world.condition("Published")).toBe(`False ${reason}`);
    expect(plan.notices).toMatchObject([{ type: "Warning", reason, message: expect.stringContaining("what was published stays published") }]);
    expect(world.run(t0 + 2 * hourMs).notices).toEqual([]);
  });

  test("a certificate that expires in place is reported at that moment, and its key stays", () => {
    const notAfterMs = t0 + hourMs;
    put(makeCertificate({ notAfterMs }));
    expect(world.run(t0).nextAtMs).toBe(notAfterMs);
    world.run(notAfterMs);
    expect(world.condition("Published")).toBe("False CertificateExpired");
    expect(world.kids).toHaveLength(1);
  });

  test("other sources go on", () => {
    world = new JwksWorld({ certificateSecrets: ["next"] });
    put(first, "next");
    world.run(t0);
    expect(world.kids).toHaveLength(1);
    expect(world.condition("Published")).toBe("False SecretNotFound");
  });
});

describe("the ConfigMap's limit", () => {
  test("later changes are batched into the next turn, a minute after the last", () => {
    put();
    world.run(t0);
    put(second);
    expect(world.run(t0 + 1000).nextAtMs).toBe(t0 + 60_000);
    expect(world.condition("Published")).toBe("False UpdateDeferred");
    expect(world.kids).toHaveLength(1);
    put(third);
    world.run(t0 + 30_000);
    world.run(t0 + 60_000);
    expect(world.status?.keys).toMatchObject([{ state: "Active" }, { state: "Retiring", replacedAt: "2026-01-01T00:01:00.000Z" }]);
    expect(world.condition("Published")).toBe("True Published");
  });

  test("holds across a restart, which forgets everything but the cluster", () => {
    put();
    world.run(t0);
    const restarted = new JwksWorld();
    restarted.status = world.status;
    for (const [key, object] of world.objects) restarted.objects.set(key, object);
    world = restarted;
    put(second);
    expect(world.run(t0 + 1000).nextAtMs).toBe(t0 + 60_000);
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

describe("names", () => {
  test("a ConfigMap of the JWKS document's name which is not ours: nothing is touched", () => {
    put();
    world.objects.set("configmaps/shop/keys", { metadata: { namespace: "shop", name: "keys", uid: "x", resourceVersion: "1" } });
    const plan = world.run(t0);
    expect(plan.writes).toEqual([]);
    expect([world.condition("Ready"), world.condition("Published")]).toEqual(["False Conflict", "False Conflict"]);
    expect(plan.notices).toMatchObject([{ reason: "Conflict", message: expect.stringContaining("ConfigMap keys") }]);
  });

  test.each([
    ["ConfigMap", "configmaps/shop/nginx"],
    ["Deployment", "deployments.apps/shop/site"],
    ["Service", "services/shop/site"],
  ])("a %s of nginx's name which is not ours: nginx is not touched, and keys are rotated and revoked all the same", (kind, key) => {
    put();
    const name = key.slice(key.lastIndexOf("/") + 1);
    world.objects.set(key, { metadata: { namespace: "shop", name, uid: "x", resourceVersion: "1" } });
    const plan = world.run(t0);
    expect(writesOf(plan)).toEqual(["apply ConfigMap keys"]);
    expect([world.condition("Ready"), world.condition("Published"), world.condition("Served")]).toEqual([
      "False Conflict",
      "True Published",
      "False Conflict",
    ]);
    expect(plan.notices).toContainEqual({ type: "Warning", reason: "Conflict", message: expect.stringContaining(`${kind} ${name}`) });
    put(second);
    expect(world.run(t0 + hourMs).notices.filter(({ reason }) => reason === "Conflict")).toEqual([]);
    expect(world.kids).toHaveLength(2);
    world.revoked = world.kids.slice(1);
    world.run(t0 + hourMs + 1);
    expect(world.kids).toHaveLength(1);
    world.objects.delete(key);
    expect(writesOf(world.run(t0 + 2 * hourMs))).toContain(`apply ${kind} ${name}`);
  });

  test("a conflict is reported once, and is over when what was in the way has gone", () => {
    put();
    world.objects.set("configmaps/shop/keys", { metadata: { namespace: "shop", name: "keys", uid: "x", resourceVersion: "1" } });
    world.run(t0);
    expect(world.run(t0 + hourMs)).toMatchObject({ writes: [], notices: [] });
    world.objects.delete("configmaps/shop/keys");
    world.run(t0 + 2 * hourMs);
    expect(world.kids).toHaveLength(1);
    expect(world.condition("Published")).toBe("True Published");
  });

  test("a younger object waits, an older one does not", () => {
    put();
    const claims = [claimKey({ kind: ConfigMap, name: { namespace: "shop", name: "keys" } })];
    const owner = { kind: JWKSConfig, name: { namespace: "shop", name: "other" } };
    world.rivals = [{ owner, createdAt: "2025-01-01T00:00:00Z", claims }];
    expect(world.run(t0).writes).toEqual([]);
    world.rivals = [{ owner, createdAt: "2027-01-01T00:00:00Z", claims }];
    expect(world.run(t0).writes).toHaveLength(4);
  });

  test("objects under earlier names go, but what was published stays unless it was to be cleaned up", () => {
    put();
    world.run(t0);
    world.spec = { ...world.spec, configMapName: "keys2", nginxConfigMapName: "nginx2" };
    expect(writesOf(world.run(t0 + 1)).filter((write) => write.startsWith("delete"))).toEqual(["delete ConfigMap nginx"]);
    expect(world.kids).toHaveLength(1);
    world.spec = { ...world.spec, cleanupOnDelete: true };
    expect(writesOf(world.run(t0 + 2)).filter((write) => write.startsWith("delete"))).toEqual(["delete ConfigMap keys"]);
  });

  test("without nginx its objects go", () => {
    put();
    world.run(t0);
    const { nginxConfigMapName: _, ...spec } = world.spec;
    world.spec = spec;
    expect(writesOf(world.run(t0 + 1)).filter((write) => write.startsWith("delete"))).toEqual([
      "delete ConfigMap nginx",
      "delete Deployment site",
      "delete Service site",
    ]);
  });

  test("a spec that cannot be read touches nothing", () => {
    put();
    world.run(t0);
    const { document } = world;
    world.spec = { ...world.spec, oldKeysTTL: "soon" };
    expect(world.run(t0 + 1).writes).toEqual([]);
    expect(world.document).toBe(document);
    expect(world.condition("Ready")).toBe("False InvalidSpec");
    expect(world.status?.keyCount).toBe(1);
  });
});

describe("a revocation", () => {
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
    expect(plan).toMatchObject({ urgent: true, notices: [{ reason: "KeyRevoked" }, {}] });
    const published: Stored<ConfigMap> | undefined = world.objects.get("configmaps/shop/keys");
    expect(JSON.parse(published?.data?.["jwks.json"] ?? "")).toMatchObject({ keys: [{ kid: live }] });
    expect(published?.data?.["jwks.json"]).not.toContain(retiring);
    expect(world.condition("Ready")).toBe(condition);
    expect(world.status?.keys?.map(({ kid }) => kid)).toEqual([live]);
    expect(world.run(t0 + hourMs + 2).writes).toEqual([]);
  });
});

describe("nginx", () => {
  const podsOf = () => JSON.stringify(world.observe().live.deployment?.spec?.template);

  test("a key change does not touch the pods; a setting does, once", () => {
    put();
    world.run(t0);
    const before = podsOf();
    put(second);
    world.run(t0 + hourMs);
    expect(podsOf()).toBe(before);
    expect(world.status?.nginxConfigUpdated).toBe("2026-01-01T00:00:00.000Z");
    world.spec = { ...world.spec, nginx: { cacheSeconds: 60 } };
    world.run(t0 + 2 * hourMs);
    const after = podsOf();
    expect(after).not.toBe(before);
    expect(world.status?.nginxConfigUpdated).toBe("2026-01-01T02:00:00.000Z");
    world.run(t0 + 3 * hourMs);
    expect(podsOf()).toBe(after);
    expect(world.status?.nginxConfigUpdated).toBe("2026-01-01T02:00:00.000Z");
  });
});

describe("deletion", () => {
  test.each([
    [false, ["ConfigMap nginx", "Deployment site", "Service site"]],
    [true, ["ConfigMap keys", "ConfigMap nginx", "Deployment site", "Service site"]],
  ])("with cleanupOnDelete %s removes what is ours", (cleanupOnDelete, expected) => {
    put();
    world.run(t0);
    world.objects.set("configmaps/shop/foreign", { metadata: { namespace: "shop", name: "foreign", uid: "x", resourceVersion: "1" } });
    world.spec = { ...world.spec, cleanupOnDelete };
    const { metadata, ...object } = world.object;
    const deleted = { ...object, metadata: { ...metadata, deletionTimestamp: "2026-01-02T00:00:00Z" } };
    const plan = planJwks({ ...world.observe(), object: deleted }, { nowMs: t0, refused: new Map() });
    expect(plan.steps.map((write) => write.verb === "delete" && `${write.kind.kind} ${write.name.name}`)).toEqual(expected);
    expect(plan.release).toBe(true);
  });

  test("only a ConfigMap that is to be cleaned up goes with its owner by itself", () => {
    put();
    world.run(t0);
    expect(world.configMap?.metadata.ownerReferences).toBeUndefined();
    expect(world.observe().live.deployment?.metadata.ownerReferences).toMatchObject([{ uid: "u-1" }]);
    world.spec = { ...world.spec, cleanupOnDelete: true };
    world.run(t0 + 1);
    expect(world.configMap?.metadata.ownerReferences).toMatchObject([{ uid: "u-1" }]);
  });
});

test("a plan is a function of what was observed and the time", () => {
  put();
  const observed = world.observe();
  const moment = { nowMs: t0, refused: new Map() };
  expect(planJwks(observed, moment)).toEqual(planJwks(observed, moment));
});

describe("ConfigMap updates", () => {
  test("the first is at once, the next after the interval, and none waits for a date in the future", () => {
    expect(nextUpdateAt(undefined, 60_000, 5)).toBe(5);
    expect(nextUpdateAt(5, 60_000, 6)).toBe(60_005);
    expect(nextUpdateAt(5, 0, 6)).toBe(5);
    expect(nextUpdateAt(999_999, 60_000, 6)).toBe(6);
  });
});
