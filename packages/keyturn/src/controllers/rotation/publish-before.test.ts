// Which key a version has, and what a target that waits for its publication does and says.
import { describe, expect, test } from "vitest";
import { makeCertificate, secretData } from "../../../test/certificates.ts";
import { RotationWorld } from "../../../test/rotation-model/rotation-world.ts";
import { reportOf, statusObjectOf } from "./conditions.ts";
import { planRotation, type RotationPlan } from "./plan.ts";
import { versionKeyOf } from "./publish-before.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const { certificate, privateKey } = makeCertificate();

describe("the key of a version", () => {
  test("is that of its certificate, and tells certificates of one key apart", () => {
    const renewed = makeCertificate({ privateKey });
    const [first, second] = [certificate, renewed.certificate].map((each) => versionKeyOf("secrets", { data: secretData(each, privateKey) }));
    if (typeof first !== "object" || typeof second !== "object") throw new Error("the test's own certificate has no key");
    expect(second.thumbprint).toBe(first.thumbprint);
    expect(second.certificateKeyId).not.toBe(first.certificateKeyId);
  });

  test.each<readonly [string, string, object, RegExp]>([
    ["a ConfigMap", "configmaps", { data: { "tls.crt": certificate } }, /only the keys of Secrets/],
    ["a Secret without a key", "secrets", { data: { password: base64("x") } }, /no certificate and no public key/],
    ["data that is none", "secrets", { data: "x" }, /no certificate and no public key/],
    ["a certificate that is none", "secrets", { data: { "tls.crt": base64("x") } }, /cannot be read/],
    ["halves of two keys", "secrets", { data: secretData(certificate, makeCertificate().privateKey) }, /for another key than tls.key/],
    ["an RSA key that is too small", "secrets", { data: { "tls.crt": base64(makeCertificate({ keyType: "rsa1024" }).certificate) } }, /1024 bits/],
    ["a curve that JWS does not know", "secrets", { data: { "tls.crt": base64(makeCertificate({ keyType: "secp256k1" }).certificate) } }, /curve/],
    ["a certificate without end", "secrets", { data: { "tls.crt": base64("-----BEGIN CERTIFICATE-----\n".repeat(10_000)) } }, /larger than any/],
  ])("is none: %s", (_what, resource, content, why) => {
    expect(versionKeyOf(resource, content as Record<string, unknown>)).toMatch(why);
  });
});

const startMs = Date.UTC(2026, 0, 1);

/** live waits for publications, fallback does not. Both hold v1. */
function published(delay = 0): RotationWorld {
  const world = new RotationWorld();
  world.waiting.add("live");
  world.putTarget("live", { order: 1, delay, deletionMode: "keep", whenUnfilled: "Backfill" });
  world.putTarget("fallback", { order: 2, delay: 0, deletionMode: "keep", whenUnfilled: "Backfill" });
  world.published.set("v1", startMs);
  world.putSource({ watched: "v1", content: "v1" }, startMs);
  run(world, startMs);
  return world;
}

function run(world: RotationWorld, nowMs: number): RotationPlan {
  for (;;) {
    const plan = planRotation(world.observe(), nowMs);
    if (plan.writes.length === 0) return plan;
    world.carryOut(plan);
  }
}

function says(plan: RotationPlan, name: string): readonly string[] {
  const schedule = plan.targets.get(name);
  const { conditions = {} } = schedule
    ? reportOf(statusObjectOf("shop", { name, uid: "u", generation: 1, statusDigest: undefined }), schedule, plan)
    : {};
  return ["Ready", "Progressing"].map((type) => `${conditions[type]?.status} ${conditions[type]?.reason}`);
}

test("a version that is due waits for its publication, and for its time", () => {
  const world = published(60);
  world.putSource({ watched: "v2", content: "v2" }, startMs + 1000);
  const before = run(world, startMs + 2000);
  expect(before.targets.get("live")?.pending).toMatchObject({ reason: "Settling", notBeforeMs: startMs + 61_000 });
  const due = run(world, startMs + 61_500);
  expect(world.held("live")).toBe("v1");
  expect(due.targets.get("live")).toMatchObject({ pending: undefined, unpublished: { seq: 2, isLasting: true } });
  world.published.set("v2", startMs + 100_000);
  const counted = run(world, startMs + 62_000);
  expect(counted.targets.get("live")?.pending).toEqual({ seq: 2, notBeforeMs: startMs + 100_000, reason: "Publishing" });
  expect(counted.nextAtMs).toBe(startMs + 100_000);
  expect(says(counted, "live")).toEqual(["True AwaitingPublication", "True Progressing"]);
  run(world, startMs + 100_000);
  expect([world.held("live"), world.held("fallback")]).toEqual(["v2", "v1"]);
});

test("what is not published within a minute is said to be held up, by all that it holds up", () => {
  const world = published();
  world.putSource({ watched: "v2", content: "v2" }, startMs + 1000);
  const first = run(world, startMs + 2000);
  expect([says(first, "live"), says(first, "fallback")]).toEqual([
    ["True AwaitingPublication", "True Progressing"],
    ["True UpToDate", "True Progressing"],
  ]);
  expect(first.nextAtMs).toBe(startMs + 61_000);
  const later = run(world, startMs + 61_000);
  expect([says(later, "live"), says(later, "fallback")]).toEqual([
    ["True KeyNotPublished", "False KeyNotPublished"],
    ["True WaitingForTarget", "False WaitingForTarget"],
  ]);
});

test("an object that is edited while its target waits is put back", () => {
  const world = published();
  world.putSource({ watched: "v2", content: "v2" }, startMs + 1000);
  run(world, startMs + 2000);
  world.spoil("live", "edited");
  run(world, startMs + 3000);
  expect(world.held("live")).toBe("v1");
});

test("a new set: who waits is not filled, who does not is", () => {
  const world = new RotationWorld();
  world.waiting.add("live");
  world.putTarget("live", { order: 1, delay: 0, deletionMode: "keep", whenUnfilled: "Backfill" });
  world.putTarget("fallback", { order: 2, delay: 0, deletionMode: "keep", whenUnfilled: "Backfill" });
  world.putSource({ watched: "v1", content: "v1" }, startMs);
  const plan = run(world, startMs);
  expect([world.held("live"), world.held("fallback")]).toEqual(["-", "v1"]);
  expect(says(plan, "live")).toEqual(["False AwaitingPublication", "True Progressing"]);
  world.published.set("v1", startMs + 5000);
  expect(run(world, startMs + 1000).nextAtMs).toBe(startMs + 5000);
  run(world, startMs + 5000);
  expect(world.held("live")).toBe("v1");
});

test("with Queue each version waits for its own key", () => {
  const world = published();
  world.changePolicy = "Queue";
  for (const [index, content] of ["v2", "v3"].entries()) {
    world.putSource({ watched: content, content }, startMs + 1000 * (index + 1));
    run(world, startMs + 1000 * (index + 1));
  }
  world.published.set("v3", startMs);
  run(world, startMs + 10_000);
  expect(world.held("live")).toBe("v1");
  world.published.set("v2", startMs);
  run(world, startMs + 11_000);
  expect(world.held("live")).toBe("v3");
});
