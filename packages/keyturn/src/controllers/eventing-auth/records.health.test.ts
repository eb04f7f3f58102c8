import type { Condition, Stored } from "@keyturn/runtime";
import { expect, it } from "vitest";
import type { EventingAuth } from "./api.ts";
import type { ConditionReason } from "./reasons.ts";
import { issuedOf } from "./records.ts";

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

it.each([
  ["healthy Ready", [condition("Ready", "True", "Ready"), condition("CredentialsValid", "True", "TokenIssued")]],
  ["progressing InProgress", [condition("Ready", "False", "InProgress")]],
  ["failed SecretConflict", [condition("Ready", "False", "SecretConflict")]],
  ["degraded CredentialsRefused", [condition("Ready", "True", "Ready"), condition("CredentialsValid", "False", "CredentialsRefused")]],
  ["degraded TargetUnreachable", [condition("Ready", "True", "Ready"), condition("TargetReachable", "False", "TargetUnreachable")]],
  ["healthy Ready", [condition("Ready", "True", "Ready"), condition("TargetReachable", "False", "TargetConnecting")]],
  ["unknown NotReported", []],
])("is %s", (expected, conditions) => {
  const { health, reason } = issuedOf(object(...conditions), { rotateAfterMs: 0, nowMs: 0 }).issued;
  expect(`${health} ${reason}`).toBe(expected);
});

it("says where the application and the Secret are", () => {
  const { issued: record } = issuedOf(object(condition("Ready", "True", "Ready")), { rotateAfterMs: 0, nowMs: 0 });
  expect(record).toMatchObject({ detail: "application app-1, Secret ns/auth", about: ["runtime-1"] });
  expect(record).not.toHaveProperty("next");
});
