import type { Pod, Stored } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { deadPod } from "../../workloads/pod-selection.ts";
import { comparePods, podKeeper, type SidecarPod } from "./pod-comparison.ts";

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

test("of a pod that brings a proxy of its own, nothing that would be reported", () => {
  expect(keep(pod({}, { labels: { app: "task" } }))).toMatchObject({ sidecar: { image: "istio/proxyv2:1.26.0" }, outline: undefined });
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

function podWith(image: string | undefined): SidecarPod {
  const sidecar = image === undefined ? undefined : { image, revision: undefined, parts: undefined };
  return { name: "web-1", owner: undefined, restartedAt: undefined, createdAtMs: 0, sidecar, outline: undefined };
}

test.each([
  ["istio/proxyv2:1", "auto"],
  ["istio/proxyv2:1", ""],
  ["auto", "auto"],
  [undefined, ""],
])("a pod with the sidecar %j is not judged by the image %j, which cannot be run", (live, image) => {
  const sidecar = { image, revision: undefined, parts: undefined };
  const invalidImage = { container: "istio-proxy", image };
  expect(comparePods([podWith(live)], { type: "known", sidecar, invalidImage, webhooks: [] }, { compareHub: false })).toEqual({
    type: "unknown",
    reason: "SidecarImageInvalid",
    message: expect.stringContaining(`"${image}", which cannot be run`),
  });
});

test("nor by a good sidecar beside another container whose image cannot be run", () => {
  const sidecar = { image: "istio/proxyv2:2", revision: undefined, parts: undefined };
  const invalidImage = { container: "istio-init", image: "auto" };
  expect(comparePods([podWith("istio/proxyv2:1")], { type: "known", sidecar, invalidImage, webhooks: [] }, { compareHub: false })).toMatchObject({
    reason: "SidecarImageInvalid",
    message: expect.stringContaining("the container istio-init of a new pod"),
  });
});
