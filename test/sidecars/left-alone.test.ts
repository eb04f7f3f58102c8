// What is not restarted: what is current, what cannot be restarted, what people have opted out of, and what does not count.
import { DaemonSet, Deployment, Job, Pod, StatefulSet } from "@keyturn/runtime";
import { answerWith, startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { consentLabel } from "../../packages/keyturn/src/controllers/sidecars/labels.ts";
import { restartedAtAnnotation } from "../../packages/keyturn/src/workloads/annotations.ts";
import { Rollout } from "../../packages/keyturn/src/workloads/workload.ts";
import { meshNamespace, metric } from "./mesh-namespace.ts";
import { rolloutDefinition } from "../support/rollout-definition.ts";

const cluster = useSharedCluster();
const oldImage = "docker.io/istio/proxyv2:1.26.0";
const newImage = "docker.io/istio/proxyv2:1.27.0";
const container = { name: "app", image: "example.com/app:1" };

describe("reported, not restarted", { concurrent: true }, () => {
  test("a paused Deployment, until it is resumed; OnDelete and partitioned ones", async () => {
    await using place = await meshNamespace(cluster(), "strategy");
    await Promise.all([
      place.put(Deployment, "paused"),
      place.put(StatefulSet, "on-delete", { spec: { updateStrategy: { type: "OnDelete" } } }),
      place.put(StatefulSet, "partitioned", { spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } } }),
      place.put(DaemonSet, "agent", { spec: { updateStrategy: { type: "OnDelete" } } }),
      place.put(Deployment, "empty", { replicas: 0, unready: true }),
      place.put(Deployment, "web"),
    ]);
    await cluster().kubectl("-n", place.namespace, "rollout", "pause", "deployment/paused");
    const operator = await place.startOperator();
    await place.upgrade({ tag: "1.27.0" });
    await place.hasSidecar(Deployment, "web", newImage);
    expect(await place.eventSays("paused", "Paused")).toContain("resume it");
    await place.eventSays("on-delete", "OnDelete");
    await place.eventSays("partitioned", "Partitioned");
    await place.eventSays("agent", "OnDelete");
    expect(await place.restartedAt(StatefulSet, "on-delete")).toBeUndefined();
    expect(await place.restartedAt(StatefulSet, "partitioned")).toBeUndefined();
    expect(await place.restartedAt(DaemonSet, "agent")).toBeUndefined();
    expect(await place.restartedAt(Deployment, "empty")).toBeUndefined();
    await soon(async () => expect(await metric(operator, 'keyturn_sidecars_skipped_workloads{reason="OnDelete"}')).toBe(2));
    await cluster().kubectl("-n", place.namespace, "rollout", "resume", "deployment/paused");
    await place.hasSidecar(Deployment, "paused", newImage);
  });

  test("a pod of its own, a Job's, and those of a kind that only looks like a Deployment", async () => {
    await using place = await meshNamespace(cluster(), "orphans");
    const { client } = cluster();
    const { namespace } = place;
    const owner = { apiVersion: "example.com/v1", kind: "Deployment", name: "web", uid: "1d0ae3e4-0000-4000-8000-000000000000", controller: true };
    await place.put(Deployment, "web", { replicas: 1 });
    await client.create(Pod, { metadata: { namespace, name: "bare", labels: { app: "bare" } }, spec: { containers: [container] } });
    await client.create(Pod, {
      metadata: { namespace, name: "foreign", labels: { app: "foreign" }, ownerReferences: [owner] },
      spec: { containers: [container] },
    });
    await client.create(Job, {
      metadata: { namespace, name: "task" },
      spec: { template: { metadata: { labels: { app: "task" } }, spec: { containers: [container], restartPolicy: "Never" } } },
    });
    // The pod of the foreign owner goes with an owner that is not there; only a pod that somebody keeps stays.
    const operator = await place.startOperator();
    await soon(async () => expect(await place.sidecars("bare")).toEqual([oldImage]));
    await place.upgrade({ tag: "1.27.0" });
    await place.hasSidecar(Deployment, "web", newImage);
    expect(await place.eventSays("bare", "BarePod")).toContain("delete it and create it anew");
    await soon(async () => expect(await metric(operator, 'keyturn_sidecars_skipped_workloads{reason="BarePod"}')).toBe(1));
    expect(await metric(operator, 'keyturn_sidecars_restarts_total{reason="ImageDiffers"}')).toBe(1);
    expect(await place.sidecars("bare")).toEqual([oldImage]);
  });

  test("what has opted out, itself or by its namespace", async () => {
    await using place = await meshNamespace(cluster(), "consent");
    await place.put(Deployment, "out", { labels: { [consentLabel]: "disabled" } });
    await place.put(Deployment, "in", { labels: { [consentLabel]: "enabled" } });
    await place.put(Deployment, "silent");
    await place.labelNamespace({ [consentLabel]: "disabled" });
    await place.startOperator();
    await place.upgrade({ tag: "1.27.0" });
    await place.hasSidecar(Deployment, "in", newImage);
    await place.eventSays("out", "OptedOut");
    await place.eventSays("silent", "OptedOut");
    await place.labelNamespace({ [consentLabel]: null });
    await place.hasSidecar(Deployment, "silent", newImage);
    expect(await place.sidecars("out")).toEqual([oldImage]);
  });

  test("with opt-in, what nobody has opted in", async () => {
    await using place = await meshNamespace(cluster(), "opt-in");
    await place.put(Deployment, "in", { labels: { [consentLabel]: "enabled" } });
    await place.put(Deployment, "silent");
    await place.startOperator({ "sidecars.opt-in": "true" });
    await place.upgrade({ tag: "1.27.0" });
    await place.hasSidecar(Deployment, "in", newImage);
    await place.eventSays("silent", "NotOptedIn");
    expect(await place.restartedAt(Deployment, "silent")).toBeUndefined();
  });

  test("anything outside of the maintenance windows", async () => {
    await using place = await meshNamespace(cluster(), "window");
    await place.put(Deployment, "web");
    const hour = (new Date().getUTCHours() + 12) % 24;
    const closed = `${String(hour).padStart(2, "0")}:00-${String(hour).padStart(2, "0")}:30`;
    const operator = await place.startOperator({ "sidecars.maintenance-windows": closed });
    await place.upgrade({ tag: "1.27.0" });
    await soon(async () => expect(await metric(operator, 'keyturn_sidecars_waiting_workloads{reason="OutsideWindow"}')).toBe(1));
    await operator.stop();
    expect(await place.restartedAt(Deployment, "web")).toBeUndefined();
    await place.startOperator({ "sidecars.maintenance-windows": "00:00-24:00" });
    await place.hasSidecar(Deployment, "web", newImage);
  });

  test("what would get an image that cannot be run", async () => {
    await using place = await meshNamespace(cluster(), "no-image");
    const gateway = { containers: [{ name: "istio-proxy", image: "auto" }] };
    await Promise.all([place.put(Deployment, "gateway", { replicas: 1, podSpec: gateway }), place.put(Deployment, "web", { replicas: 1 })]);
    await place.startOperator();
    // A native sidecar, and a custom template that still sets something of a container of that name.
    const patch = [
      { op: "add", path: "/spec/initContainers", value: [{ name: "istio-proxy", image: newImage, restartPolicy: "Always" }] },
      { op: "add", path: "/spec/containers/-", value: { name: "istio-proxy" } },
    ];
    place.istiod.misbehave({ type: "alter", response: { patch: Buffer.from(JSON.stringify(patch)).toString("base64") } });
    await place.upgrade({ tag: "1.27.0" });
    expect(await place.eventSays("web", "SidecarImageInvalid")).toContain('the image ""');
    await place.labelNamespace({ "istio.io/rev": null });
    expect(await place.eventSays("gateway", "SidecarImageInvalid")).toContain('the image "auto"');
    expect(await place.sidecars("gateway")).toEqual([oldImage]);
    expect(await place.restartedAt(Deployment, "gateway")).toBeUndefined();
  });

  test("anything in a dry run, which says what it would do", async () => {
    await using place = await meshNamespace(cluster(), "dry-run");
    await Promise.all([place.put(Deployment, "web"), place.put(StatefulSet, "by-hand", { spec: { updateStrategy: { type: "OnDelete" } } })]);
    const operator = await place.startOperator({ "sidecars.dry-run": "true" });
    await place.upgrade({ tag: "1.27.0" });
    await soon(() => {
      const withheld = (what: string, more: object) => expect.objectContaining({ msg: `would have ${what}; withheld by dry run`, ...more });
      expect(operator.logLines).toContainEqual(withheld("restarted a workload", { workload: `Deployment/${place.namespace}/web` }));
      expect(operator.logLines).toContainEqual(
        withheld("recorded an Event", { workload: `StatefulSet/${place.namespace}/by-hand`, reason: "OnDelete" }),
      );
    });
    expect(await place.restartedAt(Deployment, "web")).toBeUndefined();
    // What is still to be written is written before it ends.
    await operator.stop();
    expect([...(await place.events("web")), ...(await place.events("by-hand"))]).toEqual([]);
  });
});

test("a dry run sends no write that could be refused, and counts no failure", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "refused-dry");
  await place.put(Deployment, "web", { replicas: 1 });
  await using proxy = await startFaultProxy(cluster());
  proxy.inject(answerWith({ status: 403 }, { path: /\/deployments\/web\b/, write: true }));
  const operator = await place.startOperator({}, { through: proxy, dryRun: true });
  await place.upgrade({ tag: "1.27.0" });
  await soon(() =>
    expect(operator.logLines).toContainEqual(
      expect.objectContaining({ msg: "would have restarted a workload; withheld by dry run", workload: `Deployment/${place.namespace}/web` }),
    ),
  );
  expect(operator.logLines.filter(({ msg }) => /refused/.test(String(msg)))).toEqual([]);
  expect((await metric(operator, "keyturn_sidecars_restart_failures_total")) ?? 0).toBe(0);
  await operator.stop();
  expect(await place.events("web")).toEqual([]);
});

test.concurrent.each([
  ["in the future", "2099-01-01T00:00:00Z"],
  ["that is no time", "yesterday"],
])("what has a restart %s within the cooldown, which begins when that is first seen", async (_what, stamp) => {
  await using place = await meshNamespace(cluster(), "stamped");
  await place.put(Deployment, "web", { replicas: 1, podAnnotations: { [restartedAtAnnotation]: stamp } });
  await place.upgrade({ tag: "1.27.0" });
  const operator = await place.startOperator({ "sidecars.annotation-cooldown": "30s" });
  await soon(async () => expect(await metric(operator, 'keyturn_sidecars_waiting_workloads{reason="CoolingDown"}')).toBe(1));
  expect(await place.restartedAt(Deployment, "web")).toBe(stamp);
  await place.hasSidecar(Deployment, "web", newImage);
});

test("what would get an injected init container whose image cannot be run", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "init-image");
  await place.put(Deployment, "web", { replicas: 1 });
  await place.startOperator();
  const patch = [
    { op: "add", path: "/spec/initContainers", value: [{ name: "istio-init", image: "auto" }] },
    { op: "add", path: "/spec/containers/-", value: { name: "istio-proxy", image: newImage } },
  ];
  place.istiod.misbehave({ type: "alter", response: { patch: Buffer.from(JSON.stringify(patch)).toString("base64") } });
  await place.upgrade({ tag: "1.27.0" });
  expect(await place.eventSays("web", "SidecarImageInvalid")).toContain('the container istio-init of a new pod would have the image "auto"');
  expect(await place.restartedAt(Deployment, "web")).toBeUndefined();
});

test("pods that have failed, or are on their way out, do not count", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "evicted");
  await place.put(Deployment, "web", { replicas: 1 });
  const [pod] = await place.pods("web");
  if (!pod) throw new Error("the Deployment has no pod");
  // As an eviction for lack of resources leaves it: a record with the old sidecar, and another pod in its place.
  await cluster().kubectl(
    "-n",
    place.namespace,
    "patch",
    "pod",
    pod.metadata.name,
    "--subresource=status",
    "-p",
    '{"status":{"phase":"Failed","reason":"Evicted"}}',
  );
  place.istiod.configure({ tag: "1.27.0" });
  await soon(async () => expect((await place.pods("web")).map(({ status }) => status?.phase)).toEqual(["Running"]));
  await cluster().kubectl("-n", place.namespace, "patch", "pod", pod.metadata.name, "-p", '{"metadata":{"finalizers":["example.com/keep"]}}');
  await place.putConfigMap();
  await cluster().kubectl("-n", place.namespace, "delete", "pod", "-l", "app=web", "--field-selector=status.phase=Running", "--wait=false");
  await soon(async () => expect(await place.sidecars("web")).toEqual([newImage]));
  const operator = await place.startOperator();
  await soon(async () => expect(await metric(operator, "keyturn_sidecars_rolling_workloads")).toBe(0));
  await soon(async () => expect(place.questions).not.toHaveLength(0));
  await soon(async () => expect(await operator.metrics()).not.toMatch(/keyturn_sidecars_(outdated|unknown)_workloads\{.*\} [1-9]/));
  expect(await place.restartedAt(Deployment, "web")).toBeUndefined();
  await cluster().kubectl("-n", place.namespace, "patch", "pod", pod.metadata.name, "-p", '{"metadata":{"finalizers":null}}');
});

describe("Argo Rollouts", { concurrent: true }, () => {
  test("are restarted by spec.restartAt once their CRD is there", async () => {
    await using place = await meshNamespace(cluster(), "argo");
    const { client } = cluster();
    const { namespace } = place;
    await place.startOperator({ "sidecars.argo-rollouts": "true" });
    await cluster().apply(rolloutDefinition);
    const template = { metadata: { labels: { app: "canary" } }, spec: { containers: [container] } };
    const rollout = {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Rollout",
      metadata: { namespace, name: "canary" },
      spec: { replicas: 1, selector: { matchLabels: { app: "canary" } }, template },
    };
    await cluster().apply(rollout);
    const { metadata } = (await client.get(Rollout, { namespace, name: "canary" })) ?? {};
    // What Argo's controller would have made.
    const owner = { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", name: "canary", uid: metadata?.uid ?? "", controller: true };
    const replicaSet = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { namespace, name: "canary-1", labels: { app: "canary" }, ownerReferences: [owner] },
      spec: { replicas: 1, selector: { matchLabels: { app: "canary" } }, template },
    };
    await cluster().apply(replicaSet);
    await client.mergePatch(
      Rollout,
      { namespace, name: "canary" },
      { status: { observedGeneration: "1", phase: "Healthy", updatedReplicas: 1 } },
      { subresource: "status" },
    );
    await soon(async () => expect(await place.sidecars("canary")).toEqual([oldImage]));
    await place.upgrade({ tag: "1.27.0" });
    await soon(async () => expect((await client.get(Rollout, { namespace, name: "canary" }))?.spec?.restartAt).toMatch(/Z$/));
    await place.eventSays("canary", "SidecarRestart");
  });
});
