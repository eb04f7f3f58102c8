import { Deployment } from "@keyturn/runtime";
import { expect, it } from "vitest";
import { type RestartedWorkload, restartedRecord } from "../../workloads/workload-record.ts";
import { sidecarsView } from "./records.ts";

const nowMs = Date.parse("2026-01-02T03:04:05Z");
const times = { rolloutTimeoutMs: 600_000, nowMs };

function workload(changes: Partial<RestartedWorkload>): RestartedWorkload {
  const ref = { kind: "Deployment", namespace: "shop", name: "web" };
  return { ref, restarting: false, restartedAt: undefined, restartedFor: undefined, ...changes };
}

it("has nothing to say about a workload that was not restarted, or whose restart is done", () => {
  expect(restartedRecord(sidecarsView, Deployment, workload({}), times)).toBeUndefined();
  expect(restartedRecord(sidecarsView, Deployment, workload({ restartedAt: "2026-01-02T03:00:00Z" }), times)).toBeUndefined();
});

it("is moving while its pods are replaced, and says from when on it counts as stuck", () => {
  const rolling = workload({ restarting: true, restartedAt: "2026-01-02T03:00:05Z", restartedFor: "d", progress: "rolling", desired: 3 });
  expect(restartedRecord(sidecarsView, Deployment, rolling, times)).toMatchObject({
    health: "progressing",
    reason: "Rolling",
    detail: "3 pods",
    next: { atMs: Date.parse("2026-01-02T03:10:05Z"), what: "counts as stuck unless it is healthy by then" },
  });
});

it("needs attention once it is stuck, unless there is no limit", () => {
  const late = workload({ restarting: true, restartedAt: "2026-01-02T02:00:00Z", progress: "unhealthy" });
  expect(restartedRecord(sidecarsView, Deployment, late, times)).toMatchObject({
    health: "failed",
    reason: "RolloutStuck",
    sinceMs: Date.parse("2026-01-02T02:00:00Z"),
  });
  const unlimited = restartedRecord(sidecarsView, Deployment, late, { ...times, rolloutTimeoutMs: 0 });
  expect(unlimited).toMatchObject({ health: "progressing" });
  expect(unlimited).not.toHaveProperty("next");
});

it("needs attention if the restart brought nothing", () => {
  expect(restartedRecord(sidecarsView, Deployment, workload({ restartedFor: "digest" }), times)).toMatchObject({
    health: "degraded",
    reason: "RestartWithoutEffect",
  });
});
