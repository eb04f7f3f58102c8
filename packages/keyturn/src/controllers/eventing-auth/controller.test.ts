// How long an object that is as it should be is left alone, and what one says whose run failed.
import { expect, test } from "vitest";
import { tokenIssued } from "./conditions.ts";
import { IdleKeys } from "./rate-limits.ts";
import { failureReport } from "./controller.ts";
import { endpoints, IssuingWorld } from "./issuing-world.fixture.ts";
import type { ObservedParts, ObservedTenant } from "./observe.ts";
import { planIssuing } from "./plan.ts";

const hourMs = 3_600_000;

function setUp() {
  const world = new IssuingWorld();
  world.run();
  const observed = (tenant: ObservedTenant = {}): ObservedParts => ({ observation: world.observe(tenant), provider: undefined, target: undefined });
  const idleKeys = new IdleKeys();
  return { world, observed, idleKeys, record: (untilMs: number) => idleKeys.record("a/b", observed(), { untilMs, status: world.status }) };
}

/** What the identity provider says of a world that is as it should be. */
function answersOf({ applications, secret }: IssuingWorld): ObservedTenant {
  const [application] = applications.values();
  const secrets = Array.from(application?.secrets.keys() ?? [], (hint) => ({ hint, validToMs: undefined }));
  const { id = "", clientId } = application ?? {};
  return { endpoints, application: { id, clientId, trace: "ours" }, secrets, credentials: tokenIssued(secret?.issuedAtMs ?? 0) };
}

test("until the next check, if nothing changes", () => {
  const { observed, idleKeys, record } = setUp();
  expect(idleKeys.idleUntil("a/b", observed(), 0)).toBeUndefined();
  record(hourMs);
  expect(idleKeys.idleUntil("a/b", observed(), 0)).toBe(hourMs);
  expect(idleKeys.idleUntil("a/b", observed(), hourMs - 1)).toBe(hourMs);
  expect(idleKeys.idleUntil("a/b", observed(), hourMs)).toBeUndefined();
});

test("also if conditions say the same since another time, as they do when the status has just been written", () => {
  const { world, observed, idleKeys } = setUp();
  const { conditions = [], ...status } = world.status ?? { state: "Ready" };
  const planned = { ...status, conditions: Array.from(conditions, (condition) => ({ ...condition, lastTransitionTime: "1970-01-01T00:00:00Z" })) };
  idleKeys.record("a/b", observed(), { untilMs: hourMs, status: planned });
  expect(idleKeys.idleUntil("a/b", observed(), 0)).toBe(hourMs);
});

test("not when something changed: the Secret, the status, an annotation", () => {
  const { world, observed, idleKeys, record } = setUp();
  record(hourMs);
  const isIdle = (): boolean => idleKeys.idleUntil("a/b", observed(), 0) !== undefined;
  const { secret, status } = world;
  world.secret = undefined;
  expect(isIdle()).toBe(false);
  world.secret = secret;
  world.status = { state: "NotReady" };
  expect(isIdle()).toBe(false);
  world.status = status;
  world.abandon = "target";
  expect(isIdle()).toBe(false);
  world.abandon = undefined;
  expect(isIdle()).toBe(true);
  idleKeys.forget("a/b");
  expect(isIdle()).toBe(false);
});

test("an idle key has no steps and no report, and its date", () => {
  const { observed } = setUp();
  const plan = planIssuing({ ...observed(), idleUntilMs: 5_000, checkAfterMs: hourMs }, { nowMs: 1_000 });
  expect(plan).toEqual({ steps: [], status: [], nextAtMs: 5_000 });
});

test("an object that is looked at too often says the same however often that is, so that its status is written once", () => {
  const { world, observed } = setUp();
  const limited = (limitedUntilMs: number) =>
    planIssuing({ ...observed(answersOf(world)), idleUntilMs: undefined, limitedUntilMs, checkAfterMs: hourMs }, { nowMs: world.nowMs });
  const [first, next] = [limited(world.nowMs + 5_000), limited(world.nowMs + 5_001)];
  expect(first.status[0]?.conditions["Ready"]).toMatchObject({ status: "False", reason: "ChangesTooOften" });
  expect(next.status).toEqual(first.status);
  expect([first.nextAtMs, next.nextAtMs]).toEqual([world.nowMs + 5_000, world.nowMs + 5_001]);
});

test("only until something is due, and not at all if it is not as it should be", () => {
  const { world, observed } = setUp();
  world.askedAt = undefined;
  const plan = () => planIssuing({ ...observed(answersOf(world)), idleUntilMs: undefined, checkAfterMs: hourMs }, { nowMs: world.nowMs });
  expect(plan()).toMatchObject({ steps: [], nextAtMs: world.nowMs + hourMs, end: { complete: true } });
  world.rotateAfterMs = 60_000;
  expect(plan()).toMatchObject({ steps: [], nextAtMs: world.nowMs + 60_000, end: { complete: true } });
  world.trouble = { reason: "TargetUnreachable", message: "connect ECONNREFUSED" };
  expect(plan()).toMatchObject({ steps: [], nextAtMs: world.nowMs + hourMs, end: { complete: false } });
});

test.each([
  ["IdentityProviderFailed", "IASApplicationReady", "IASApplicationCreationFailed"],
  ["TargetFailed", "SecretReady", "SecretCreationFailed"],
  ["Forbidden", "Ready", "ControlPlaneRefused"],
  ["ApiServerUnreachable", "Ready", "ControlPlaneRefused"],
  ["DeadlineExceeded", "Ready", "DeadlineExceeded"],
  ["InternalError", "Ready", "InternalError"],
])("a run that failed with %s says so in %s: %s; while the object is being deleted, also why it waits", (reason, type, said) => {
  const { world } = setUp();
  const { conditions, fields } = failureReport(world.object, { reason, message: "no" });
  expect(conditions[type]).toEqual({ status: "False", reason: said, message: "no" });
  expect([conditions["Ready"]?.reason, fields]).toEqual([said, { ...fields, state: "NotReady", iasApplication: world.status?.iasApplication }]);
  world.deletedAt = "2026-01-01T00:00:00Z";
  expect(failureReport(world.object, { reason, message: "no" }).conditions["Ready"]).toMatchObject({ reason: "DeletionWaiting", message: "no" });
});
