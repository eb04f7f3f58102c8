import type { DaemonSet, Deployment, StatefulSet, Stored } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { keepDaemonSet, keepDeployment, keepRollout, keepStatefulSet, type Rollout } from "./workload.ts";

const metadata = { namespace: "shop", name: "web", uid: "u", resourceVersion: "1", generation: 2 };
const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "app" }] } };
const selector = { matchLabels: { app: "web" }, matchExpressions: [{ key: "tier", operator: "In", values: ["a", "b"] } as const] };

describe("how far a Deployment's rollout is", () => {
  const progress = (status: Deployment["status"]): string => {
    const deployment: Stored<Deployment> = { metadata, spec: { replicas: 3, selector, template }, ...(status && { status }) };
    return keepDeployment(deployment).progress;
  };
  const done = { observedGeneration: 2, replicas: 3, updatedReplicas: 3, availableReplicas: 3 };
  test.each([
    [done, "finished"],
    [{ ...done, observedGeneration: 1 }, "rolling"],
    [{ ...done, updatedReplicas: 2 }, "rolling"],
    [{ ...done, replicas: 4 }, "rolling"],
    [{ ...done, availableReplicas: 2 }, "unhealthy"],
    [undefined, "rolling"],
  ])("%o: %s", (status, expected) => {
    expect(progress(status)).toBe(expected);
  });
});

describe("how far a StatefulSet's rollout is", () => {
  const done = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2, currentRevision: "b", updateRevision: "b" };
  test.each([
    [done, "finished"],
    [{ ...done, currentRevision: "a" }, "rolling"],
    [{ ...done, updatedReplicas: 1 }, "rolling"],
    [{ ...done, availableReplicas: 1 }, "unhealthy"],
  ])("%o: %s", (status, expected) => {
    const statefulSet: Stored<StatefulSet> = { metadata, spec: { replicas: 2, selector, template }, status };
    expect(keepStatefulSet(statefulSet).progress).toBe(expected);
  });
});

describe("how far a DaemonSet's rollout is", () => {
  const done = { observedGeneration: 2, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2 };
  test.each([
    [done, "finished"],
    [{ ...done, updatedNumberScheduled: 1 }, "rolling"],
    [{ ...done, numberAvailable: 1 }, "unhealthy"],
  ])("%o: %s", (status, expected) => {
    const daemonSet: Stored<DaemonSet> = { metadata, spec: { selector, template }, status };
    expect(keepDaemonSet(daemonSet).progress).toBe(expected);
  });
});

describe("how far a Rollout's restart is", () => {
  const spec = { replicas: 1, selector, template, restartAt: "2026-03-04T12:00:00Z" };
  const done = { observedGeneration: "2", updatedReplicas: 1, phase: "Healthy", restartedAt: "2026-03-04T12:00:00Z" };
  test.each([
    [done, "finished"],
    [{ ...done, restartedAt: "2026-03-04T11:59:59Z" }, "rolling"],
    [{ ...done, observedGeneration: "1" }, "rolling"],
    [{ ...done, phase: "Degraded" }, "unhealthy"],
  ])("%o: %s", (status, expected) => {
    const rollout: Stored<Rollout> = { metadata, spec, status };
    expect(keepRollout(rollout).progress).toBe(expected);
  });

  test("its time is spec.restartAt, or the template's if it asks for a rollout; the other is kept", () => {
    const [inTemplate, restartAt] = ["2026-03-04T11:00:00Z", "2026-03-04T12:00:00Z"];
    const restarted = { ...template, metadata: { ...template.metadata, annotations: { "fortsa.scaffidi.net/restartedAt": inTemplate } } };
    const kept = (strategy: string) =>
      keepRollout({
        metadata: { ...metadata, annotations: { "reloader.stakater.com/rollout-strategy": strategy } },
        spec: { ...spec, template: restarted },
      });
    expect(kept("restart")).toMatchObject({ restartedBy: "restartAt", restartedAt: restartAt, otherRestartedAt: inTemplate });
    expect(kept("rollout")).toMatchObject({ restartedBy: "template", restartedAt: inTemplate, otherRestartedAt: restartAt });
  });

  test("one that takes its template from a Deployment cannot be asked about", () => {
    expect(keepRollout({ metadata, spec: { replicas: 1 } }).blocker).toBe("UnsupportedOwner");
  });
});

test("the selector is written as the API takes it", () => {
  expect(keepDeployment({ metadata, spec: { selector, template } }).selector).toBe("app=web,tier in (a,b)");
});

test("a restart does not change the digest of the template", () => {
  const restarted = { ...template, metadata: { ...template.metadata, annotations: { "fortsa.scaffidi.net/restartedAt": "2026-03-04T12:00:00Z" } } };
  const before = keepDeployment({ metadata, spec: { selector, template } });
  const after = keepDeployment({ metadata, spec: { selector, template: restarted } });
  expect(after.templateDigest).toBe(before.templateDigest);
  expect(after.restartedAt).toBe("2026-03-04T12:00:00Z");
});
