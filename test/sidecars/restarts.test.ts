// Outdated workloads are restarted once, as many at a time as may, and nothing that is due gets lost: on a real API server, rolled by the real controllers.
import { setTimeout as delay } from "node:timers/promises";
import { DaemonSet, Deployment, Lease, StatefulSet } from "@keyturn/runtime";
import { answerWith, startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { consentLabel } from "../../packages/keyturn/src/controllers/sidecars/labels.ts";
import { restartedAtAnnotation, rolloutLabel } from "../../packages/keyturn/src/workloads/annotations.ts";
import { startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import { isRolledOut, meshNamespace, metric } from "./mesh-namespace.ts";

const cluster = useSharedCluster();
const oldImage = "docker.io/istio/proxyv2:1.26.0";
const newImage = "docker.io/istio/proxyv2:1.27.0";
const newestImage = "docker.io/istio/proxyv2:1.28.0";

test("each workload is restarted once, with Fortsa's annotation, by server-side apply under our own name", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "once");
  const kinds = [Deployment, StatefulSet, DaemonSet] as const;
  // All of one name: they are told apart by their kind.
  await Promise.all(
    kinds.map((kind) =>
      place.put(kind, "web", { podLabels: { kind: kind.kind }, spec: { selector: { matchLabels: { app: "web", kind: kind.kind } } } }),
    ),
  );
  const operator = await place.startOperator();
  await soon(async () => expect(await metric(operator, "keyturn_sidecars_rolling_workloads")).toBe(0));
  for (const kind of kinds) expect(await place.restartedAt(kind, "web")).toBeUndefined();

  await place.upgrade({ tag: "1.27.0" });
  for (const kind of kinds) {
    await place.hasSidecar(kind, "web", newImage);
    const { metadata, spec } = await place.workload(kind, "web");
    expect(spec?.template.metadata?.annotations?.[restartedAtAnnotation]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(metadata.managedFields?.filter(({ manager }) => manager === "keyturn-sidecars").map(({ operation }) => operation)).toEqual(["Apply"]);
  }
  expect(await place.eventSays("web", "SidecarRestart")).toMatch(
    /^restarted: pod \S+ has the sidecar docker.io\/istio\/proxyv2:1.26.0; a new pod would get docker.io\/istio\/proxyv2:1.27.0/,
  );
  await place.eventSays("web", "SidecarRolloutFinished");
  expect(await metric(operator, 'keyturn_sidecars_restarts_total{reason="ImageDiffers"}')).toBe(3);
  expect(await operator.metrics()).toMatch(
    /keyturn_sidecars_webhook_duration_seconds_count\{webhook="rev.namespace.sidecar-injector.istio.io",outcome="\w+"\} \d+/,
  );
});

test("a new leader restarts nothing that was restarted already", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "leader");
  await place.put(Deployment, "web");
  const first = await place.startOperator();
  await place.upgrade({ tag: "1.27.0" });
  await soon(async () => expect(await place.restartedAt(Deployment, "web")).toBeDefined());
  await first.stop();
  const restartedAt = await place.restartedAt(Deployment, "web");
  const second = await place.startOperator();
  await place.hasSidecar(Deployment, "web", newImage);
  await soon(async () => expect(await metric(second, "keyturn_sidecars_rolling_workloads")).toBe(0));
  expect(await place.restartedAt(Deployment, "web")).toBe(restartedAt);
});

test("no more workloads roll at a time than may, and each that is finished makes room for the next", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "budget");
  const names = ["a", "b", "c", "d", "e"];
  await Promise.all(names.map((name) => place.put(Deployment, name, { replicas: 1 })));
  let most = 0;
  const stop = new AbortController();
  const looking = (async () => {
    while (!stop.signal.aborted) {
      const { items } = await cluster().client.list(Deployment, { namespace: place.namespace, labels: rolloutLabel });
      // One that is finished no longer counts, even if its label could not be taken off at once.
      most = Math.max(most, items.filter((item) => !isRolledOut(Deployment, item)).length);
      await delay(20);
    }
  })();
  try {
    await place.startOperator({ "sidecars.max-rollouts": "2" });
    await place.upgrade({ tag: "1.27.0" });
    for (const name of names) await place.hasSidecar(Deployment, name, newImage);
  } finally {
    stop.abort();
    await looking;
  }
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(2);
});

test("a rollout that does not get healthy stops all further ones of its namespace, until it does", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "stuck");
  // Each needs a pod more than it has, for a moment, and there may be no more pods. Who asks the API server before knows, and restarts nothing.
  await place.put(Deployment, "a", { replicas: 1 });
  await place.put(Deployment, "b", { replicas: 1 });
  await cluster().kubectl("-n", place.namespace, "create", "quota", "no-more", "--hard=pods=2");
  const operator = await place.startOperator({ "sidecars.check-admission": "false", "sidecars.rollout-timeout": "2s" });
  await place.upgrade({ tag: "1.27.0" });
  expect(await place.eventSays("a", "RolloutStuck")).toContain("not healthy in time");
  await soon(async () => expect(await metric(operator, "keyturn_sidecars_stuck_rollouts")).toBe(1));
  await soon(async () => expect(await metric(operator, 'keyturn_sidecars_waiting_workloads{reason="RolloutStuck"}')).toBe(1));
  expect(await place.restartedAt(Deployment, "b")).toBeUndefined();
  await cluster().kubectl("-n", place.namespace, "delete", "quota", "no-more");
  // The controller that makes pods has backed off by then.
  await cluster().kubectl("-n", place.namespace, "scale", "deployment", "a", "--replicas=2");
  await place.hasSidecar(Deployment, "a", newImage);
  await place.hasSidecar(Deployment, "b", newImage);
});

test("while istiod answers nobody, workloads that it was asked about before are not restarted either", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "frozen");
  const { webhooks = [], ...configuration } = place.istiod.revisionConfiguration();
  await place.putWebhooks({ ...configuration, webhooks: webhooks.map((webhook) => Object.assign({}, webhook, { timeoutSeconds: 5 })) });
  // Without an old pod beside it, a new one that cannot be made is an outage.
  const names = ["a", "b", "c"];
  await Promise.all(names.map((name) => place.put(Deployment, name, { replicas: 1, spec: { strategy: { type: "Recreate" } } })));
  // One at a time: nobody is looked at again before the first has its new pod, which is the last that gets an answer.
  const operator = await place.startOperator({ "sidecars.max-rollouts": "1" });
  place.istiod.misbehave(
    { type: "silence" },
    ({ dryRun, pod }) => !dryRun && place.istiod.settings.tag === "1.27.0" && pod.metadata.generateName?.startsWith("a-") === true,
  );
  await place.upgrade({ tag: "1.27.0" });
  await soon(async () => expect(await place.sidecars("a")).toEqual([newImage]));
  for (const name of ["b", "c"]) {
    expect(await place.eventSays(name, "WebhookFailed")).toContain("no whole answer within 5 s");
    expect(await place.restartedAt(Deployment, name)).toBeUndefined();
    expect(await place.sidecars(name)).toEqual([oldImage]);
  }
  await soon(async () => expect(await metric(operator, 'keyturn_sidecars_unknown_workloads{reason="WebhookFailed"}')).toBeGreaterThan(1));
  place.istiod.misbehave(undefined);
  for (const name of names) await place.hasSidecar(Deployment, name, newImage);
  expect(await metric(operator, 'keyturn_sidecars_restarts_total{reason="ImageDiffers"}')).toBe(3);
});

test("between any two restarts there is the whole delay, even if somebody has written a restart in the future", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "delay");
  const future = { [restartedAtAnnotation]: new Date(Date.now() + 365 * 24 * 3_600_000).toISOString() };
  const names = ["a", "b", "c"];
  await Promise.all([
    place.put(Deployment, "future", { replicas: 1, podAnnotations: future, labels: { [consentLabel]: "disabled" } }),
    ...names.map((name) => place.put(Deployment, name, { replicas: 1 })),
  ]);
  await place.startOperator({ "sidecars.restart-delay": "4s" });
  await place.upgrade({ tag: "1.27.0" });
  for (const name of names) await place.hasSidecar(Deployment, name, newImage);
  const [a = 0, b = 0, c = 0] = await Promise.all(names.map(async (name) => Date.parse((await place.restartedAt(Deployment, name)) ?? "")));
  // What follows waits for the whole delay from the exact time, and of both times only whole seconds are written.
  expect(b - a).toBeGreaterThanOrEqual(4000);
  expect(c - b).toBeGreaterThanOrEqual(4000);
});

describe("nothing that is due gets lost", { concurrent: true }, () => {
  test("while the webhook fails, and when it refuses without saying why", async () => {
    await using place = await meshNamespace(cluster(), "failing");
    await place.put(Deployment, "web");
    const operator = await place.startOperator();
    await soon(async () => expect(await metric(operator, "keyturn_sidecars_rolling_workloads")).toBe(0));
    place.istiod.misbehave({ type: "refuse" });
    await place.upgrade({ env: { A: "1" } });
    await place.eventSays("web", "WebhookRefused");
    place.istiod.misbehave({ type: "status", code: 500 });
    await place.upgrade({ tag: "1.27.0" });
    expect(await place.eventSays("web", "WebhookFailed")).toContain("HTTP status 500");
    expect(await place.restartedAt(Deployment, "web")).toBeUndefined();
    place.istiod.misbehave(undefined);
    await place.hasSidecar(Deployment, "web", newImage);
  });

  test("when the API server does not take the restart, and others do not wait for it", async () => {
    await using place = await meshNamespace(cluster(), "refused");
    await place.put(Deployment, "a", { replicas: 1 });
    await place.put(Deployment, "b", { replicas: 1 });
    await using proxy = await startFaultProxy(cluster());
    const refusal = proxy.inject(answerWith({ status: 503 }, { path: /\/deployments\/a\b/, write: true }));
    const operator = await place.startOperator({}, { through: proxy });
    await place.upgrade({ tag: "1.27.0" });
    await place.hasSidecar(Deployment, "b", newImage);
    await place.eventSays("a", "RestartFailed");
    expect(await metric(operator, "keyturn_sidecars_restart_failures_total")).toBeGreaterThan(0);
    refusal.remove();
    await place.hasSidecar(Deployment, "a", newImage);
  });

  test("a second change within the cooldown is made up for when it is over", async () => {
    await using place = await meshNamespace(cluster(), "cooldown");
    await place.put(Deployment, "web", { replicas: 1 });
    const patient = await place.startOperator({ "sidecars.annotation-cooldown": "1h" });
    await place.upgrade({ tag: "1.27.0" });
    await place.hasSidecar(Deployment, "web", newImage);
    const first = await place.restartedAt(Deployment, "web");
    await place.upgrade({ tag: "1.28.0" });
    await soon(async () => expect(await metric(patient, 'keyturn_sidecars_waiting_workloads{reason="CoolingDown"}')).toBe(1));
    expect(await place.restartedAt(Deployment, "web")).toBe(first);
    // However long all this took, the next operator waits for the rest of its own cooldown.
    await patient.stop();
    await place.startOperator({ "sidecars.annotation-cooldown": "8s" });
    await place.hasSidecar(Deployment, "web", newestImage);
    const second = await place.restartedAt(Deployment, "web");
    expect(Date.parse(second ?? "") - Date.parse(first ?? "")).toBeGreaterThanOrEqual(8000);
  });

  test("what waits when the lease is lost is made up for when it is held again", async () => {
    await using place = await meshNamespace(cluster(), "lease");
    await place.put(Deployment, "web", { replicas: 1 });
    const operator = await place.startOperator({ "sidecars.annotation-cooldown": "45s" });
    await place.upgrade({ tag: "1.27.0" });
    await place.hasSidecar(Deployment, "web", newImage);
    await place.upgrade({ tag: "1.28.0" });
    await soon(async () => expect(await metric(operator, 'keyturn_sidecars_waiting_workloads{reason="CoolingDown"}')).toBe(1));
    const name = { namespace: place.namespace, name: "keyturn-sidecars" };
    const stolen = { holderIdentity: "somebody else", leaseDurationSeconds: 12, renewTime: new Date().toISOString().replace("Z", "000Z") };
    await cluster().client.mergePatch(Lease, name, { spec: stolen });
    await soon(async () => expect(await metric(operator, 'leader_election_master_status{name="keyturn-sidecars"}')).toBe(0));
    await place.hasSidecar(Deployment, "web", newestImage);
    expect((await cluster().client.get(Lease, name))?.spec?.holderIdentity).not.toBe("somebody else");
  });

  test("pods that were let through without a sidecar while istiod was down get one", async () => {
    await using place = await meshNamespace(cluster(), "ignored");
    const { webhooks = [], ...configuration } = place.istiod.revisionConfiguration();
    await place.putWebhooks({
      ...configuration,
      webhooks: webhooks.map((webhook) => Object.assign({}, webhook, { failurePolicy: "Ignore" as const })),
    });
    place.istiod.misbehave({ type: "hangUp" });
    await soon(async () => {
      await cluster().kubectl("-n", place.namespace, "delete", "deployment", "web", "--ignore-not-found");
      await place.put(Deployment, "web", { replicas: 1 });
      expect(await place.sidecars("web")).toEqual(["none"]);
    });
    place.istiod.misbehave(undefined);
    await place.startOperator();
    await place.hasSidecar(Deployment, "web", "docker.io/istio/proxyv2:1.26.0");
    expect(await place.eventSays("web", "SidecarRestart")).toContain("has no sidecar");
  });
});

test("a restart that does not help is not repeated, and said so", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "inept");
  await place.put(Deployment, "web", { replicas: 1 });
  // Somebody else's webhook, of which we know nothing, puts the old image back.
  await using other = await startIstiod(place.istiod.settings);
  await place.putWebhooks({ metadata: { name: `zz-other-${place.namespace}` }, webhooks: other.revisionConfiguration().webhooks ?? [] });
  const operator = await place.startOperator({ "sidecars.check-admission": "false" });
  await place.upgrade({ tag: "1.27.0" });
  expect(await place.eventSays("web", "RestartWithoutEffect")).toContain("its new pods are no different");
  const restartedAt = await place.restartedAt(Deployment, "web");
  await soon(async () => expect(await metric(operator, 'keyturn_sidecars_skipped_workloads{reason="RestartWithoutEffect"}')).toBe(1));
  expect(await place.restartedAt(Deployment, "web")).toBe(restartedAt);
});
