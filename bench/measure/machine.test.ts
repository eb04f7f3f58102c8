// What the head of the results says of the control plane.
import { expect, test } from "vitest";
import { describeControlPlane } from "./machine.ts";

test("the control plane is named with both versions", () => {
  expect(describeControlPlane()).toMatch(/^Kubernetes v1\.\d+\.\d+ and etcd v3\.\d+\.\d+, one of each/);
});
