// Whole plans: what is written and what is said, from the first run to deletion.
import { Buffer } from "node:buffer";
import { beforeEach, describe, expect, test } from "vitest";
import { makeCertificate, secretData } from "../../../test/certificates.ts";
import { JwksWorld, writesOf } from "../../../test/jwks-world.ts";
import { problemWithJwks } from "./jwk.ts";
import { planJwks } from "./plan.ts";

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
    world.makePodsAvailable();
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
    world.run(t0);
    world.makePodsAvailable();
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
    expect(writesOf(plan)).not.toContain(`apply ${kind} ${name}`);
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

  test("objects under earlier names go, but what was published stays unless it was to be cleaned up", () => {
    put();
    world.run(t0);
    world.spec = { ...world.spec, configMapName: "keys2", nginxConfigMapName: "nginx2" };
    expect(writesOf(world.run(t0 + 1)).filter((write) => write.startsWith("delete"))).toEqual(["delete ConfigMap nginx"]);
    expect(world.kids).toHaveLength(1);
    world.spec = { ...world.spec, cleanupOnDelete: true };
    expect(writesOf(world.run(t0 + 2)).filter((write) => write.startsWith("delete"))).toEqual(["delete ConfigMap keys"]);
  });

  test("what cannot be removed is told, and holds up nothing else", () => {
    put();
    world.run(t0);
    const { nginxConfigMapName: _, ...spec } = world.spec;
    world.spec = spec;
    world.refuse = (write) => (write.verb === "delete" && write.kind.kind === "Service" ? "no" : undefined);
    put(second);
    world.run(t0 + hourMs);
    expect([world.kids.length, world.deployment, world.condition("Published")]).toEqual([2, undefined, "True Published"]);
    expect(world.condition("Ready")).toBe("False RemovalRefused");
    world.refuse = () => undefined;
    world.run(t0 + 2 * hourMs);
    expect([world.condition("Ready"), world.objects.has("services/shop/site")]).toEqual(["True Ready", false]);
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

test("with an issuer the discovery document is beside the keys, and follows their algorithms", () => {
  world = new JwksWorld({ issuer: "https://issuer.example/shop" });
  put();
  world.run(t0);
  expect(JSON.parse(world.configMap?.data?.["openid-configuration.json"] ?? "")).toEqual({
    issuer: "https://issuer.example/shop",
    jwks_uri: "https://issuer.example/shop/.well-known/jwks.json",
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  });
  expect(JSON.stringify(world.deployment)).toContain("openid-configuration.json");
});

describe("nginx", () => {
  const podsOf = () => JSON.stringify(world.deployment?.spec?.template);

  test("a changed document and a changed setting roll the pods, once each", () => {
    put();
    world.run(t0);
    const first = podsOf();
    put(second);
    world.run(t0 + hourMs);
    const before = podsOf();
    expect(before).not.toBe(first);
    world.run(t0 + hourMs + 1000);
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

describe("a rollout of nginx", () => {
  const setStatus = (status: object): void => void world.objects.set("deployments.apps/shop/site", Object.assign({}, world.deployment, { status }));

  test("is served only if every pod is of the Deployment as it is", () => {
    put();
    world.run(t0);
    world.makePodsAvailable();
    world.run(t0);
    expect(world.condition("Served")).toBe("True Serving");
    setStatus({ replicas: 2, updatedReplicas: 1, availableReplicas: 1, unavailableReplicas: 1 });
    world.run(t0 + 1);
    expect([world.condition("Served"), world.condition("Ready")]).toEqual(["False RollingOut", "True Ready"]);
    setStatus({ replicas: 2, updatedReplicas: 1, availableReplicas: 0, unavailableReplicas: 2 });
    world.run(t0 + 2);
    expect([world.condition("Served"), world.condition("Ready")]).toEqual(["False PodsNotAvailable", "False PodsNotAvailable"]);
    setStatus({ observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1, conditions: [] });
    world.run(t0 + 3);
    expect([world.condition("Served"), world.condition("Ready")]).toEqual(["True Serving", "True Ready"]);
  });

  test("is Ready while its pods are replaced, and no longer after a minute", () => {
    put();
    world.run(t0);
    world.makePodsAvailable();
    world.run(t0);
    setStatus({ replicas: 2, updatedReplicas: 1, availableReplicas: 1, unavailableReplicas: 1 });
    world.run(t0 + 1000);
    world.run(t0 + 60_999);
    expect(world.condition("Ready")).toBe("True Ready");
    world.run(t0 + 61_000);
    expect([world.condition("Served"), world.condition("Ready")]).toEqual(["False PodsNotAvailable", "False PodsNotAvailable"]);
  });

  test("a changed document is not served until its rollout is over, and a key is to be had from then on", () => {
    const [running, rolling] = [
      { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
      { observedGeneration: 1, replicas: 2, updatedReplicas: 1, availableReplicas: 1, unavailableReplicas: 1 },
    ];
    const availableSince = (): readonly (string | undefined)[] => world.status?.keys?.map((key) => key.availableSince) ?? [];
    put();
    world.run(t0);
    expect(availableSince()).toEqual([undefined]);
    setStatus(running);
    world.run(t0 + 1000);
    expect([world.condition("Served"), availableSince()]).toEqual(["True Serving", ["2026-01-01T00:00:01.000Z"]]);
    put(second);
    world.run(t0 + hourMs);
    // In the very run that publishes it, before the Deployment's controller has seen anything.
    expect([world.condition("Served"), availableSince()]).toEqual(["False RollingOut", [undefined, "2026-01-01T00:00:01.000Z"]]);
    setStatus(rolling);
    world.run(t0 + hourMs + 1000);
    expect(world.condition("Served")).toBe("False RollingOut");
    setStatus(running);
    world.run(t0 + hourMs + 2000);
    expect([world.condition("Served"), availableSince()]).toEqual(["True Serving", ["2026-01-01T01:00:02.000Z", "2026-01-01T00:00:01.000Z"]]);
    // Pods that come and go serve what they are given.
    setStatus(rolling);
    world.run(t0 + 2 * hourMs);
    setStatus(running);
    world.run(t0 + 3 * hourMs);
    expect(availableSince()[0]).toBe("2026-01-01T01:00:02.000Z");
  });

  test("a document that somebody edited is served from when it is put back, and its keys count anew", () => {
    put();
    world.run(t0);
    world.makePodsAvailable();
    world.run(t0 + 1000);
    const pods = JSON.stringify(world.deployment?.spec?.template);
    world.editConfigMap((configMap) => ({ ...configMap, data: { "jwks.json": '{"keys":[]}' } }));
    world.run(t0 + hourMs);
    expect(world.condition("Served")).toBe("False RollingOut");
    expect(JSON.stringify(world.deployment?.spec?.template)).not.toBe(pods);
    world.makePodsAvailable();
    world.run(t0 + hourMs + 1000);
    expect(world.status?.keys?.[0]?.availableSince).toBe("2026-01-01T01:00:01.000Z");
  });

  test("a shorter cache time counts when all that was handed out with the longer one is over", () => {
    put();
    world.run(t0);
    world.makePodsAvailable();
    world.run(t0 + 1000);
    expect(world.status?.cacheSeconds).toBe(3600);
    world.spec = { ...world.spec, nginx: { cacheSeconds: 60 } };
    world.run(t0 + hourMs);
    world.makePodsAvailable();
    const { nextAtMs } = world.run(t0 + hourMs + 5000);
    expect([world.condition("Served"), world.status?.cacheSeconds, nextAtMs]).toEqual(["True Serving", 3600, t0 + 2 * hourMs + 5000]);
    world.run(t0 + 2 * hourMs + 5000);
    expect(world.status?.cacheSeconds).toBe(3600);
    world.run(t0 + 2 * hourMs + 6000);
    expect(world.status?.cacheSeconds).toBe(60);
    world.spec = { ...world.spec, nginx: { cacheSeconds: 7200 } };
    world.run(t0 + 3 * hourMs);
    expect(world.status?.cacheSeconds).toBe(7200);
  });

  test("without nginx a key is to be had as soon as it is in the ConfigMap, and no longer when that was edited", () => {
    const { nginxConfigMapName: _, ...spec } = world.spec;
    world.spec = spec;
    put();
    world.run(t0);
    expect(world.status?.keys?.[0]?.availableSince).toBe("2026-01-01T00:00:00.000Z");
    world.run(t0 + hourMs);
    expect(world.status?.keys?.[0]?.availableSince).toBe("2026-01-01T00:00:00.000Z");
    world.editConfigMap(undefined);
    world.refuse = ({ part }) => (part === "document" ? "a quota" : undefined);
    world.run(t0 + hourMs);
    expect(world.status?.keys?.[0]).not.toHaveProperty("availableSince");
    world.refuse = () => undefined;
    world.run(t0 + hourMs + 10_000);
    expect(world.status?.keys?.[0]?.availableSince).toBe("2026-01-01T01:00:10.000Z");
  });

  test("that does not get ready is told in the words of its pods and its Deployment", () => {
    put();
    world.run(t0);
    setStatus({ replicas: 1, conditions: [{ type: "ReplicaFailure", status: "True", message: "exceeded quota" }] });
    const pods = [
      {
        metadata: { name: "site-1", uid: "p", resourceVersion: "1" },
        status: {
          containerStatuses: [
            {
              name: "nginx",
              image: "",
              imageID: "",
              ready: false,
              restartCount: 3,
              state: { waiting: { reason: "CrashLoopBackOff", message: "back-off" } },
              lastState: { terminated: { exitCode: 1, message: "nginx: [emerg] unknown directive" } },
            },
          ],
        },
      },
    ];
    const { status } = planJwks({ ...world.observe(), pods }, { nowMs: t0 + hourMs, refused: new Map() });
    expect(status[0]?.conditions["Served"]).toEqual({
      status: "False",
      reason: "PodsFail",
      message: "no pod of Deployment site is available: exceeded quota; pod site-1 says CrashLoopBackOff: back-off: nginx: [emerg] unknown directive",
    });
  });
});

test("a server's certificate that nginx would refuse is not rolled out: what runs stays as it is, and keys are published all the same", () => {
  const served = (): string => `${world.condition("Served")}: ${world.status?.conditions?.find(({ type }) => type === "Served")?.message}`;
  world = new JwksWorld({ nginx: { tlsSecret: "server" } });
  world.podsAreReady = true;
  put();
  world.run(t0);
  expect(served()).toMatch(/^False ServerCertificateRefused: Secret server .* it does not exist; its pods stay as they are$/);
  expect(world.objects.has("deployments.apps/shop/site")).toBe(false);
  const [server, other] = [makeCertificate(), makeCertificate()];
  world.putSecret("server", secretData(server.certificate, server.privateKey));
  world.run(t0 + 1000);
  expect(world.condition("Served")).toBe("True Serving");
  const running = structuredClone(world.objects.get("deployments.apps/shop/site"));
  world.putSecret("server", secretData(server.certificate, other.privateKey));
  put(second);
  world.run(t0 + hourMs);
  expect(served()).toMatch(/^False ServerCertificateRefused: .* its tls\.crt is for another key than its tls\.key/);
  expect(world.objects.get("deployments.apps/shop/site")).toEqual(running);
  expect(world.kids).toHaveLength(2);
  world.putSecret("server", secretData(other.certificate, other.privateKey));
  world.run(t0 + 2 * hourMs);
  expect(world.condition("Served")).toBe("True Serving");
  expect(world.objects.get("deployments.apps/shop/site")).not.toEqual(running);
});

describe("what an installation does not allow", () => {
  test("is not run, and keys are published all the same", () => {
    world = new JwksWorld({ nginx: { image: "evil:1" } });
    put();
    expect(writesOf(world.run(t0))).toEqual(["apply ConfigMap keys"]);
    expect([world.condition("Published"), world.condition("Ready")]).toEqual(["True Published", "False NotAllowed"]);
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
    world.run(t0 + 1);
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
    expect(world.deployment?.metadata.ownerReferences).toMatchObject([{ uid: "u-1" }]);
    world.spec = { ...world.spec, cleanupOnDelete: true };
    world.run(t0 + 1);
    expect(world.configMap?.metadata.ownerReferences).toMatchObject([{ uid: "u-1" }]);
  });
});

test("kubectl delete --cascade=orphan leaves everything where it is", () => {
  put();
  world.run(t0);
  const { metadata, ...object } = world.object;
  const deleted = { ...object, metadata: { ...metadata, deletionTimestamp: "2026-01-02T00:00:00Z", finalizers: ["keyturn.io/jwks", "orphan"] } };
  expect(planJwks({ ...world.observe(), object: deleted }, { nowMs: t0, refused: new Map() })).toMatchObject({ steps: [], release: true });
});

test("a plan is a function of what was observed and the time", () => {
  put();
  const observed = world.observe();
  const moment = { nowMs: t0, refused: new Map() };
  expect(planJwks(observed, moment)).toEqual(planJwks(observed, moment));
});
