import { describe, expect, test } from "vitest";
import { draftPod, type PodSource } from "./pod-draft.ts";

const template = { metadata: { labels: { app: "web" }, annotations: { note: "x" } }, spec: { containers: [{ name: "app", image: "app:1" }] } };

function source(kind: PodSource["kind"], more: Partial<PodSource> = {}): PodSource {
  return { kind, namespace: "shop", name: "web", uid: "u-1", template, ...more };
}

describe("the pod of", () => {
  test("a Deployment is a ReplicaSet's, with one hash in label, owner and name", () => {
    const { metadata, spec } = draftPod(source("Deployment"));
    const hash = metadata.labels?.["pod-template-hash"] ?? "";
    expect(hash).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{10}$/);
    expect(metadata).toMatchObject({ namespace: "shop", generateName: `web-${hash}-`, labels: { app: "web" }, annotations: { note: "x" } });
    expect(metadata.name).toBeUndefined();
    expect(metadata.ownerReferences).toMatchObject([{ apiVersion: "apps/v1", kind: "ReplicaSet", name: `web-${hash}`, controller: true }]);
    expect(spec).toMatchObject({ serviceAccountName: "default", containers: [{ name: "app" }] });
  });

  test("a Rollout is a ReplicaSet's under Argo's label", () => {
    const { metadata } = draftPod(source("Rollout"));
    expect(Object.keys(metadata.labels ?? {})).toEqual(["app", "rollouts-pod-template-hash"]);
    expect(metadata.ownerReferences).toMatchObject([{ kind: "ReplicaSet", name: `web-${metadata.labels?.["rollouts-pod-template-hash"]}` }]);
  });

  test("a StatefulSet is its first, with its claims", () => {
    const { metadata, spec } = draftPod(source("StatefulSet", { serviceName: "web-headless", volumeClaims: ["data"] }));
    expect(metadata).toMatchObject({
      name: "web-0",
      labels: { app: "web", "statefulset.kubernetes.io/pod-name": "web-0", "apps.kubernetes.io/pod-index": "0" },
      ownerReferences: [{ kind: "StatefulSet", name: "web", uid: "u-1" }],
    });
    expect(spec).toMatchObject({
      hostname: "web-0",
      subdomain: "web-headless",
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data-web-0" } }],
    });
  });

  test("a DaemonSet has its generation", () => {
    const { metadata } = draftPod(source("DaemonSet", { templateGeneration: 3 }));
    expect(metadata).toMatchObject({ generateName: "web-", labels: { "pod-template-generation": "3" }, ownerReferences: [{ kind: "DaemonSet" }] });
  });

  test("nobody has its template's labels alone", () => {
    expect(draftPod(source("Pod")).metadata).toEqual({ name: "web", namespace: "shop", labels: { app: "web" }, annotations: { note: "x" } });
  });
});

test("a ServiceAccount of its own is kept", () => {
  const spec = { ...template.spec, serviceAccountName: "robot" };
  expect(draftPod(source("Deployment", { template: { ...template, spec } })).spec).toMatchObject({ serviceAccountName: "robot" });
});

test("limits are requests too, as for every pod", () => {
  const limited = Object.assign({ name: "app", image: "app:1" }, { resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "100m" } } });
  const { spec } = draftPod(source("Deployment", { template: { ...template, spec: { containers: [limited], initContainers: [limited] } } }));
  for (const container of [spec?.containers[0], spec?.initContainers?.[0]]) {
    expect(container).toMatchObject({ resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "100m", memory: "1Gi" } } });
  }
});

test("another template has another hash, the same template the same", () => {
  const hashOf = (pod: ReturnType<typeof draftPod>): string | undefined => pod.metadata.labels?.["pod-template-hash"];
  const other = { ...template, metadata: { labels: { app: "other" } } };
  expect(hashOf(draftPod(source("Deployment")))).toBe(hashOf(draftPod(source("Deployment", { name: "another" }))));
  expect(hashOf(draftPod(source("Deployment")))).not.toBe(hashOf(draftPod(source("Deployment", { template: other }))));
});
