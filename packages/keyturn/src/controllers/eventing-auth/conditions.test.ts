// What the status says, and that it says nothing new when nothing is new.
import type { Condition, Stored } from "@keyturn/runtime";
import { expect, test } from "vitest";
import type { EventingAuth, EventingAuthStatus } from "./api.ts";
import { applicationCreated, applicationFailed, eventingAuthSummary, secretCreated, statusOf, targetReached } from "./conditions.ts";
import type { ConditionReason } from "./reasons.ts";

const at = (status?: EventingAuthStatus): Stored<EventingAuth> => ({
  metadata: { name: "runtime", uid: "u", resourceVersion: "1", generation: 2 },
  spec: {},
  ...(status && { status }),
});
const good = { application: applicationCreated, secret: secretCreated, target: targetReached };
const firstMs = Date.parse("2026-01-01T00:00:00Z");

test("ready once both of the predecessor's conditions are true, and not before", () => {
  expect(statusOf(at(), { application: applicationCreated }, { nowMs: firstMs }).state).toBe("NotReady");
  expect(statusOf(at(), good, { nowMs: firstMs }).state).toBe("Ready");
  expect(statusOf(at(statusOf(at(), good, { nowMs: firstMs })), { application: applicationFailed("no") }, { nowMs: firstMs }).state).toBe("NotReady");
});

test("the same again is the same status, whenever it is said", () => {
  const before = statusOf(at(), good, { nowMs: firstMs });
  expect(statusOf(at(before), good, { nowMs: firstMs + 86_400_000 })).toEqual(before);
});

test("a change of one condition leaves the times of the others", () => {
  const before = statusOf(at(), good, { nowMs: firstMs });
  const after = statusOf(at(before), { application: applicationFailed("failed to create api secret") }, { nowMs: firstMs + 60_000 });
  expect(after.conditions?.map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime}`)).toEqual([
    "IASApplicationReady 2026-01-01T00:01:00Z",
    "SecretReady 2026-01-01T00:00:00Z",
    "TargetReachable 2026-01-01T00:00:00Z",
    "Ready 2026-01-01T00:01:00Z",
  ]);
});

test("facts stay until they are taken out", () => {
  const iasApplication = { name: "runtime", uuid: "1" };
  const before = statusOf(at(), good, { nowMs: firstMs, iasApplication });
  expect(statusOf(at(before), good, { nowMs: firstMs }).iasApplication).toEqual(iasApplication);
  expect(statusOf(at(before), good, { nowMs: firstMs, iasApplication: "none" })).not.toHaveProperty("iasApplication");
});

function condition(type: string, status: "True" | "False", reason: ConditionReason): Condition {
  return { type, status, reason, message: `because of ${reason}`, lastTransitionTime: "2026-01-02T03:00:00Z" };
}

function object(...conditions: Condition[]): Stored<EventingAuth> {
  return {
    metadata: { namespace: "kcp", name: "runtime-1", uid: "u", resourceVersion: "1" },
    spec: {},
    status: {
      state: "Ready",
      conditions,
      iasApplication: { name: "runtime-1", uuid: "app-1" },
      secret: { clusterId: "c", namespacedName: "ns/auth" },
    },
  };
}

test.each([
  ["healthy Ready", [condition("Ready", "True", "Ready"), condition("CredentialsValid", "True", "TokenIssued")]],
  ["moving InProgress", [condition("Ready", "False", "InProgress")]],
  ["attention SecretConflict", [condition("Ready", "False", "SecretConflict")]],
  ["attention CredentialsRefused", [condition("Ready", "True", "Ready"), condition("CredentialsValid", "False", "CredentialsRefused")]],
  ["attention TargetUnreachable", [condition("Ready", "True", "Ready"), condition("TargetReachable", "False", "TargetUnreachable")]],
  ["healthy Ready", [condition("Ready", "True", "Ready"), condition("TargetReachable", "False", "TargetConnecting")]],
  ["unknown NotReported", []],
])("is %s", (expected, conditions) => {
  const { health, reason } = eventingAuthSummary(object(...conditions));
  expect(`${health} ${reason}`).toBe(expected);
});

test("says where the application and the Secret are", () => {
  expect(eventingAuthSummary(object(condition("Ready", "True", "Ready")))).toMatchObject({
    detail: "application app-1, Secret ns/auth",
    names: ["runtime-1"],
    next: undefined,
  });
});
