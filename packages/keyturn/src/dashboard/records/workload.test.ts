// What is drawn of a workload, for each thing that the plan can decide.
import { Deployment } from "@keyturn/runtime";
import { expect, it } from "vitest";
import type { Decision } from "../../controllers/sidecars/plan.ts";
import { workloadRecord } from "./workload.ts";

const ref = { kind: "Deployment", namespace: "shop", name: "web" };
const restartedAt = "2026-06-01T00:00:00Z";

it.each<readonly [Decision, string, string]>([
  [{ type: "restart", digest: "d" }, "outdated", "busy"],
  [{ type: "rolling", stuck: false }, "rolling", "busy"],
  [{ type: "rolling", stuck: true }, "rolling", "error"],
  [{ type: "finish", helped: true }, "rolling", "busy"],
  [{ type: "wait", reason: "OutsideWindow", untilMs: 7 }, "waiting", "waiting"],
  [{ type: "skip", reason: "OptedOut" }, "heldBack", "waiting"],
  [{ type: "skip", reason: "RestartWithoutEffect" }, "heldBack", "warning"],
  [{ type: "unknown", reason: "WebhookFailed" }, "unknown", "unknown"],
])("%o is %s and %s", (decision, phase, health) => {
  const row = { id: "Deployment/shop/web", ref, outdated: "ImageDiffers" as const, why: "another image", decision };
  expect(workloadRecord({ ref, kind: Deployment, row, workload: { restartedAt } })).toMatchObject({
    id: "workload/Deployment/shop/web",
    ref: { resource: "deployments.apps", namespace: "shop", name: "web" },
    phase,
    health,
    why: "another image",
    outdated: "ImageDiffers",
    restartedMs: Date.parse(restartedAt),
    stuck: decision.type === "rolling" && decision.stuck,
  });
});

it("tells when a wait is over", () => {
  const row = { id: "", ref, outdated: undefined, why: "", decision: { type: "wait", reason: "CoolingDown", untilMs: 7 } as const };
  expect(workloadRecord({ ref, kind: Deployment, row, workload: undefined })).toMatchObject({
    nextMs: 7,
    decision: { type: "wait", reason: "CoolingDown", untilMs: 7 },
  });
});

it("is done if there is nothing to decide and it was restarted, and is not shown if it never was", () => {
  expect(workloadRecord({ ref, kind: Deployment, row: undefined, workload: { restartedAt } })).toMatchObject({ phase: "done", health: "ok" });
  expect(workloadRecord({ ref, kind: Deployment, row: undefined, workload: { restartedAt: undefined } })).toBeUndefined();
});
