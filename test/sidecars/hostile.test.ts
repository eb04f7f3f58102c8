// What tenants write on their own workloads, and what an istiod does behind everybody's back: nobody else waits for it, nothing goes faster by it.
import { Deployment } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { consentLabel } from "../../packages/keyturn/src/controllers/sidecars/labels.ts";
import { restartedAtAnnotation, rolloutLabel } from "../../packages/keyturn/src/workloads/annotations.ts";
import { meshNamespace, metric } from "./mesh-namespace.ts";

const cluster = useSharedCluster();
const newImage = "docker.io/istio/proxyv2:1.27.0";

test("times that a tenant goes on writing delay nobody's restart", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "times");
  await Promise.all([
    place.put(Deployment, "writes", { replicas: 1, labels: { [consentLabel]: "disabled" } }),
    place.put(Deployment, "web", { replicas: 1 }),
  ]);
  const stop = new AbortController();
  const writing = (async () => {
    for (let time = 0; !stop.signal.aborted; time++) {
      const template = { metadata: { annotations: { [restartedAtAnnotation]: `${2200 + time}-01-01T00:00:00Z` } } };
      await cluster().client.mergePatch(Deployment, { namespace: place.namespace, name: "writes" }, { spec: { paused: true, template } });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  })();
  try {
    await place.startOperator({ "sidecars.restart-delay": "10m" });
    await place.upgrade({ tag: "1.27.0" });
    await place.hasSidecar(Deployment, "web", newImage);
  } finally {
    stop.abort();
    await writing;
  }
});

test("whoever takes the label off its workloads does not have more of them rolling", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "strips");
  const names = ["a", "b"];
  // A rollout takes as long as its pods are not ready for long enough.
  const slow = { replicas: 1, spec: { minReadySeconds: 600, progressDeadlineSeconds: 900 }, unready: true };
  await Promise.all(names.map((name) => place.put(Deployment, name, slow)));
  await soon(async () => expect(await place.pods("a")).toHaveLength(1));
  await soon(async () => expect(await place.pods("b")).toHaveLength(1));
  const operator = await place.startOperator({ "sidecars.max-rollouts": "1" });
  await place.upgrade({ tag: "1.27.0" });
  await soon(async () => expect(await place.restartedAt(Deployment, "a")).toBeDefined());
  await cluster().kubectl("label", "deployment", "a", `${rolloutLabel}-`, "-n", place.namespace);
  // Whatever makes the operator look again, the other waits.
  const looks = async () => (await metric(operator, 'controller_runtime_reconcile_total{controller="sidecars",result="success"}')) ?? 0;
  const before = await looks();
  await place.labelNamespace({ [consentLabel]: "enabled" });
  await soon(async () => expect(await looks()).toBeGreaterThan(before));
  await soon(async () => expect(await metric(operator, 'keyturn_sidecars_waiting_workloads{reason="RolloutLimit"}')).toBe(1));
  expect(await place.restartedAt(Deployment, "b")).toBeUndefined();
});

test("an istiod that answers otherwise than before is noticed, although nothing in the cluster says so", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "probed");
  await place.put(Deployment, "web", { replicas: 1 });
  const operator = await place.startOperator({ "sidecars.probe-interval": "1s" });
  await soon(() => expect(place.questions.length).toBeGreaterThan(1));
  place.istiod.configure({ tag: "1.27.0" });
  await place.hasSidecar(Deployment, "web", newImage);
  expect(await metric(operator, 'keyturn_sidecars_restarts_total{reason="ImageDiffers"}')).toBe(1);
});

test.each([["true"], ["false"]])(
  "what a LimitRange fills in is no difference of whole sidecars, with check-admission=%s",
  { concurrent: true },
  async (checked) => {
    await using place = await meshNamespace(cluster(), "limits", { resources: { requests: { cpu: "100m" } } });
    const defaults = { default: { cpu: "2", memory: "1Gi" }, defaultRequest: { cpu: "10m", memory: "16Mi" } };
    const range = { metadata: { namespace: place.namespace, name: "defaults" }, spec: { limits: [{ type: "Container", ...defaults }] } };
    await cluster().apply(Object.assign({ apiVersion: "v1", kind: "LimitRange" }, range));
    await place.put(Deployment, "web", { replicas: 1 });
    const operator = await place.startOperator({ "sidecars.compare-whole": "true", "sidecars.check-admission": checked });
    await soon(() => expect(place.questions.length).toBeGreaterThan(0));
    // What is really another sidecar is noticed, once.
    await place.put(Deployment, "other", { replicas: 1 });
    await place.upgrade({ tag: "1.27.0" });
    await place.hasSidecar(Deployment, "web", newImage);
    await place.hasSidecar(Deployment, "other", newImage);
    const restarts = async (reason: string) => (await metric(operator, `keyturn_sidecars_restarts_total{reason="${reason}"}`)) ?? 0;
    expect([await restarts("ImageDiffers"), await restarts("SidecarDiffers")]).toEqual([2, 0]);
    await soon(async () => expect(await operator.metrics()).not.toMatch(/keyturn_sidecars_(outdated|skipped)_workloads\{.*\} [1-9]/));
  },
);
