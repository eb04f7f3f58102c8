import type { Condition, Stored } from "@keyturn/runtime";
import { describe, expect, it } from "vitest";
import type { RotationTarget, RotationTargetStatus } from "./api.ts";
import type { ConditionReason } from "./reasons.ts";
import { targetReport } from "./rotation-set.ts";

const nowMs = Date.parse("2026-01-02T03:04:05Z");

function condition(type: string, status: "True" | "False", reason: ConditionReason): Condition {
  return { type, status, reason, message: `because of ${reason}`, lastTransitionTime: "2026-01-02T03:00:00Z" };
}

function target(status: RotationTargetStatus | undefined): Stored<RotationTarget> {
  return {
    metadata: { namespace: "shop", name: "key-previous", uid: "u", resourceVersion: "1" },
    spec: { rotationSet: "keys", rotationOrder: 2, rotationDelay: "1h", deletionMode: "keep", whenUnfilled: "Backfill", changePolicy: "Settled" },
    ...(status && { status }),
  };
}

function judged(...conditions: readonly Condition[]) {
  const { health, reason } = targetReport(target({ conditions }), nowMs);
  return `${health} ${reason}`;
}

describe("the health of a RotationTarget", () => {
  it.each([
    ["healthy UpToDate", [condition("Ready", "True", "UpToDate"), condition("Progressing", "True", "Progressing")]],
    ["progressing Rotating", [condition("Ready", "True", "Rotating")]],
    ["healthy NoSource", [condition("Ready", "True", "NoSource"), condition("Progressing", "False", "NoSource")]],
    ["failed NoSource", [condition("Ready", "False", "NoSource")]],
    ["progressing InsufficientHistory", [condition("Ready", "False", "InsufficientHistory")]],
    ["healthy Removed", [condition("Ready", "False", "Removed")]],
    ["failed NameConflict", [condition("Ready", "False", "NameConflict")]],
    ["degraded SourceUnstable", [condition("Ready", "True", "Rotating"), condition("Progressing", "False", "SourceUnstable")]],
    ["progressing SetChanged", [condition("Ready", "True", "SetChanged"), condition("Progressing", "False", "SetChanged")]],
    ["progressing InsufficientHistory", [condition("Ready", "False", "InsufficientHistory"), condition("Progressing", "False", "SetChanged")]],
    ["degraded WaitingForTarget", [condition("Ready", "True", "WaitingForTarget"), condition("Progressing", "False", "WaitingForTarget")]],
    ["failed VersionLost", [condition("Ready", "False", "VersionLost"), condition("Progressing", "False", "VersionLost")]],
    ["paused Paused", [condition("Ready", "True", "Paused"), condition("Progressing", "False", "Paused")]],
    ["paused NotSelected", [condition("Ready", "False", "NotSelected"), condition("Progressing", "False", "NotSelected")]],
  ])("is %s", (expected, conditions) => {
    expect(judged(...conditions)).toBe(expected);
  });
});

it("shows the version, the names to look for, and what comes next as the plan has written it", () => {
  const status = {
    conditions: [condition("Ready", "True", "Rotating")],
    sourceRef: { kind: "secrets", name: "key-latest" },
    currentVersion: { seq: 3, digest: "d", appliedAt: "2026-01-01T00:00:00Z" },
    pending: { seq: 4, notBefore: "2026-01-02T04:00:00Z", reason: "Following" },
  };
  expect(targetReport(target(status), nowMs)).toMatchObject({
    ref: { kind: "RotationTarget", namespace: "shop", name: "key-previous" },
    detail: "set keys, order 2, v3",
    next: { atMs: Date.parse("2026-01-02T04:00:00Z"), what: "gets version 4" },
    about: ["key-previous", "keys", "key-latest"],
  });
});

it("is overdue when the version does not come", () => {
  const status = {
    conditions: [condition("Ready", "True", "Rotating")],
    pending: { seq: 4, notBefore: "2026-01-02T03:00:00Z", reason: "Following" },
  };
  expect(targetReport(target(status), nowMs)).toMatchObject({ health: "degraded", reason: "Overdue" });
});
