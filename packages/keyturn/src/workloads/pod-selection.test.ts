import { ReplicaSet } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { ManualCache } from "./manual-cache.fixture.ts";
import { directOwnerId, type LivePod, type PodOwner, type ReplicaSetOwner, workloadOfPod } from "./pod-selection.ts";

const owner = (apiVersion: string, kind: string, uid = "u1"): PodOwner => ({ apiVersion, kind, name: "web", uid });
const podPodOwner = (of: PodOwner | undefined): LivePod => ({
  name: "p",
  owner: of,
  restartedAt: undefined,
  createdAtMs: 0,
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
