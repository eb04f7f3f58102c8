// What the head of the results says of the control plane, and how its requests and processor time are counted.
import { expect, test } from "vitest";
import { describeControlPlane, requestsIn, serverCpuIn } from "./control-plane.ts";

test("the control plane is named with both versions", () => {
  expect(describeControlPlane()).toMatch(/^Kubernetes v1\.\d+\.\d+ and etcd v3\.\d+\.\d+, one of each/);
});

test("counts requests of some resources, and no watches", () => {
  const text = [
    'apiserver_request_total{code="201",resource="configmaps",verb="POST"} 3',
    'apiserver_request_total{code="200",resource="secrets",verb="PATCH"} 1.5e+02',
    'apiserver_request_total{code="200",resource="secrets",verb="WATCH"} 7',
    'apiserver_request_total{code="200",resource="pods",verb="LIST"} 9',
    'apiserver_request_total_other{code="200",resource="secrets",verb="LIST"} 9',
  ].join("\n");
  expect(requestsIn(text, ["secrets", "configmaps"])).toBe(153);
});

test("reads the API server's processor time in milliseconds", () => {
  expect(serverCpuIn("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 12.5\ngo_threads 9")).toBe(12_500);
});
