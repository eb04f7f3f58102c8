import { type Pod, ReplicaSet, type Stored } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { ManualCache } from "./manual-cache.fixture.ts";
import { deadPod, directOwnerId, type LivePod, podKeeper, type PodOwner, type ReplicaSetOwner, workloadOfPod } from "./pods.ts";

const keep = podKeeper({ whole: false });

function pod(more: Partial<Pod> = {}, metadata: Partial<Pod["metadata"]> = {}): Stored<Pod> {
  const meta = { namespace: "shop", name: "web-1", uid: "u", resourceVersion: "1", creationTimestamp: "2026-03-04T12:00:00Z", ...metadata };
  return { spec: { containers: [{ name: "app" }, { name: "istio-proxy", image: "istio/proxyv2:1.26.0" }] }, ...more, metadata: meta };
}

test.each(["Pending", "Running", "Unknown"] as const)("%s: counts", (phase) => {
  expect(keep(pod({ status: { phase } }))).toMatchObject({ sidecar: { image: "istio/proxyv2:1.26.0" } });
});

const over = ["Succeeded", "Failed"] as const;
test.each(over)("%s: does not count, however it looks", (phase) => {
  expect(keep(pod({ status: { phase } }))).toBe(deadPod);
});

test("one that is being deleted does not count", () => {
  expect(keep(pod({}, { deletionTimestamp: "2026-03-04T13:00:00Z" }))).toBe(deadPod);
});

test("of a workload's pod little is kept, and pods with equal sidecars share them", () => {
  const metadata = {
    labels: { app: "web", "pod-template-hash": "x" },
    annotations: { "fortsa.scaffidi.net/restartedAt": "2026-03-04T11:00:00Z", other: "long" },
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-x", uid: "r", controller: true }],
  };
  const kept = keep(pod({}, metadata));
  expect(kept).toEqual({
    name: "web-1",
    owner: { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-x", uid: "r" },
    restartedAt: "2026-03-04T11:00:00Z",
    createdAtMs: Date.parse("2026-03-04T12:00:00Z"),
    sidecar: { image: "istio/proxyv2:1.26.0", revision: undefined, parts: undefined },
    outline: undefined,
  });
  const other = keep(pod({}, metadata));
  if (kept === deadPod || other === deadPod) throw new Error("both are alive");
  expect(other.sidecar).toBe(kept.sidecar);
});

test("of a pod that nobody can restart, what decides about its injection", () => {
  const metadata = {
    labels: { app: "task", "job-name": "task-1", "batch.kubernetes.io/controller-uid": "u", "security.istio.io/tlsMode": "istio" },
    annotations: { "sidecar.istio.io/status": "{}", "sidecar.istio.io/proxyCPU": "1", other: "x" },
  };
  expect(keep(pod({}, metadata))).toMatchObject({
    outline: { metadata: { labels: { app: "task" }, annotations: { "sidecar.istio.io/proxyCPU": "1" } } },
  });
});

const owner = (apiVersion: string, kind: string, uid = "u1"): PodOwner => ({ apiVersion, kind, name: "web", uid });
const podPodOwner = (of: PodOwner | undefined): LivePod => ({
  name: "p",
  owner: of,
  restartedAt: undefined,
  createdAtMs: 0,
  sidecar: undefined,
  outline: undefined,
});

function replicaSets(controlledBy: PodOwner | undefined): ManualCache<ReplicaSetOwner> {
  const cache = new ManualCache<ReplicaSetOwner>(ReplicaSet);
  cache.put("shop/web", controlledBy, "u1");
  return cache;
}

test.each([
  [owner("apps/v1", "StatefulSet"), undefined, "StatefulSet/shop/web"],
  [owner("apps/v1", "DaemonSet"), undefined, "DaemonSet/shop/web"],
  [owner("apps/v1", "ReplicaSet"), owner("apps/v1", "Deployment"), "Deployment/shop/web"],
  [owner("apps/v1", "ReplicaSet"), owner("argoproj.io/v1alpha1", "Rollout"), "Rollout/shop/web"],
  // Kinds of the same name in other groups are something else.
  [owner("example.com/v1", "StatefulSet"), undefined, undefined],
  [owner("apps/v1", "ReplicaSet"), owner("example.com/v1", "Deployment"), undefined],
  [owner("example.com/v1", "ReplicaSet"), owner("apps/v1", "Deployment"), undefined],
  [owner("apps/v1", "Rollout"), undefined, undefined],
  // A ReplicaSet of that name that is not the pod's.
  [owner("apps/v1", "ReplicaSet", "u0"), owner("apps/v1", "Deployment"), undefined],
  [owner("apps/v1", "ReplicaSet"), undefined, undefined],
  [undefined, undefined, undefined],
])("a pod of %o, whose ReplicaSet is of %o, belongs to %s", (direct, controlledBy, expected) => {
  expect(workloadOfPod(podPodOwner(direct), "shop", replicaSets(controlledBy))).toBe(expected);
});

test.each([
  [undefined, "Pod/shop/p"],
  [owner("batch/v1", "Job"), "Job/shop/web"],
  [owner("apps/v1", "ReplicaSet"), "ReplicaSet/shop/web"],
  [owner("example.com/v1", "Deployment"), "Deployment.example.com/shop/web"],
  [owner("v1", "ReplicationController"), "ReplicationController./shop/web"],
])("what cannot be restarted is named after its owner %o: %s", (direct, expected) => {
  expect(directOwnerId(podPodOwner(direct), "shop")).toBe(expected);
});
