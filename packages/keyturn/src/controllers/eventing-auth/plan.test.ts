// Decisions one by one: what is left alone, what is waited for, what is said.
import { describe, expect, test } from "vitest";
import { endpoints, IssuingWorld } from "./issuing-world.fixture.ts";
import { planDeletionStep } from "./deletion-plan.ts";
import { planStep } from "./plan.ts";

describe("nothing is done", () => {
  test("for an object whose name another one has", () => {
    const world = new IssuingWorld();
    world.holder = { key: "other/runtime", application: undefined };
    expect(world.run()).toMatchObject({ type: "rest", settled: false });
    expect(world.applications.size).toBe(0);
    expect(world.status).toMatchObject({ state: "NotReady", conditions: [{ type: "Ready", reason: "NameTaken" }] });
  });

  test("at the tenant while the cluster of the runtime is not seen", () => {
    const world = new IssuingWorld();
    world.trouble = { reason: "TargetUnreachable", message: "connect ECONNREFUSED" };
    world.run();
    expect(world.applications.size).toBe(0);
    expect(world.status?.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      "SecretReady SecretCreationFailed",
      "TargetReachable TargetUnreachable",
      "Ready TargetUnreachable",
    ]);
  });

  test("with several applications of the name", () => {
    const world = new IssuingWorld();
    world.makeApplication();
    world.makeApplication();
    world.run();
    expect(world.applications.size).toBe(2);
    expect(world.status?.conditions?.[0]).toMatchObject({ type: "IASApplicationReady", status: "False", reason: "IASApplicationCreationFailed" });
  });

  test("about a Secret of somebody else", () => {
    const world = new IssuingWorld();
    world.putSecret({ application: "theirs", credentials: { type: "new", clientId: "theirs", clientSecret: "theirs", hint: "thei" } });
    if (world.secret) world.secret = { ...world.secret, mark: { metadata: { name: "x", uid: "x", resourceVersion: "1" } } };
    world.run();
    expect(world.clientSecret).toBe("theirs");
    expect(world.status?.conditions?.find(({ type }) => type === "SecretReady")).toMatchObject({ status: "False", reason: "SecretConflict" });
  });
});

test("what was Ready says so no longer while the cluster is away, and keeps what it says about application and Secret", () => {
  const world = new IssuingWorld();
  world.run();
  world.trouble = { reason: "TargetUnreachable", message: "connect ECONNREFUSED" };
  world.run();
  expect(world.status).toMatchObject({ state: "NotReady" });
  expect(world.status?.conditions?.map(({ type, status }) => `${type} ${status}`)).toEqual([
    "IASApplicationReady True",
    "SecretReady True",
    "TargetReachable False",
    "CredentialsValid True",
    "Ready False",
  ]);
});

test("an application that the Secret in the cluster uses is adopted, one that it does not use is a leftover", () => {
  const world = new IssuingWorld();
  const used = world.makeApplication();
  const hint = world.makeSecret(used);
  world.putSecret({ application: used.id, credentials: { type: "new", clientId: used.clientId, clientSecret: used.secrets.get(hint) ?? "", hint } });
  expect(planStep(world.observe({ namesakes: [used.id], namesake: used }), world.nowMs)).toEqual({ type: "adopt", id: used.id });
  expect(planStep(world.observe({ namesakes: ["other"], namesake: { id: "other", clientId: "other" } }), world.nowMs)).toEqual({
    type: "deleteApplication",
    id: "other",
    why: "leftover",
  });
});

test("a secret that runs out by itself is replaced before that", () => {
  const world = new IssuingWorld();
  world.run();
  const [application] = world.applications.values();
  const [hint = ""] = application?.secrets.keys() ?? [];
  world.overlapMs = 3_600_000;
  const tenant = { endpoints, application: { id: application?.id ?? "", clientId: application?.clientId ?? "" } };
  const validToMs = world.nowMs + 7_200_000;
  expect(planStep(world.observe({ ...tenant, secrets: [{ hint, validToMs }] }), world.nowMs)).toMatchObject({
    type: "rest",
    nextAtMs: validToMs - 3_600_000,
  });
  expect(planStep(world.observe({ ...tenant, secrets: [{ hint, validToMs }] }), validToMs - 3_600_000)).toMatchObject({
    type: "issue",
    why: "rotation",
  });
});

test("a client secret that is lost where no other can be had leads to a new application", () => {
  const world = new IssuingWorld();
  world.run();
  const [application] = world.applications.values();
  const sight = { id: application?.id ?? "", clientId: application?.clientId ?? "" };
  expect(planStep(world.observe({ application: sight, secretLost: true }), world.nowMs)).toEqual({
    type: "deleteApplication",
    id: sight.id,
    why: "secretLost",
  });
});

describe("deletion", () => {
  test("of an object that was refused lets it go and touches nothing", () => {
    const world = new IssuingWorld();
    world.makeApplication();
    world.holder = { key: "other/runtime", application: undefined };
    world.deletedAt = "2026-01-01T00:00:00Z";
    world.run();
    expect(world.released).toBe(true);
    expect(world.applications.size).toBe(1);
  });

  test("of one of two objects to which the original gave the same application leaves it to the other", () => {
    const world = new IssuingWorld();
    world.run();
    const [application] = world.applications.values();
    world.holder = { key: "other/runtime", application: application?.id };
    world.deletedAt = new Date(world.nowMs).toISOString();
    world.run();
    expect(world.released).toBe(true);
    expect(world.accepts).toBe(true);
  });

  test("waits for a cluster that is away, and not for ever", () => {
    const world = new IssuingWorld();
    world.run();
    world.deletedAt = new Date(world.nowMs).toISOString();
    world.trouble = { reason: "TargetUnreachable", message: "connect ECONNREFUSED" };
    expect(world.run()).toMatchObject({ type: "rest", nextAtMs: world.nowMs + 3_600_000 });
    expect(world.applications.size).toBe(0);
    expect(world.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({ reason: "DeletionWaiting" });
    world.nowMs += 3_600_000;
    world.run();
    expect(world.released).toBe(true);
    expect(world.abandoned).toEqual(["Secret kyma-system/eventing-webhook-auth in the cluster of the runtime"]);
  });

  test("holds on to the application until somebody says otherwise", () => {
    const world = new IssuingWorld();
    world.run();
    world.deletedAt = new Date(world.nowMs).toISOString();
    world.closed = "there are no credentials";
    world.nowMs += 1_000 * 3_600_000;
    expect(world.run()).toMatchObject({ type: "rest", verdicts: { hindrance: { reason: "DeletionWaiting" } } });
    world.abandon = "target, application";
    world.run();
    expect(world.released).toBe(true);
    expect(world.abandoned).toEqual(["application application-1"]);
    expect(world.secret).toBeUndefined();
  });

  test("with several applications of the name and none known: none is deleted, and it waits", () => {
    const world = new IssuingWorld();
    world.makeApplication();
    world.makeApplication();
    world.deletedAt = new Date(world.nowMs).toISOString();
    expect(planDeletionStep(world.observe({ namesakes: ["a", "b"] }), world.nowMs)).toMatchObject({
      type: "rest",
      verdicts: { hindrance: { message: expect.stringContaining("none was deleted") as string } },
    });
  });
});
