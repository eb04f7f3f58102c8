// Outdated workloads are restarted, and nothing else is: on a real API server, rolled by the real controllers.
import { DaemonSet, Deployment, StatefulSet } from "@keyturn/runtime";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { consentLabel, restartedAtAnnotation, rolloutLabel } from "../../packages/keyturn/src/controllers/sidecars/marks.ts";
import { meshNamespace, metric, soon } from "./mesh-namespace.ts";

const cluster = useSharedCluster();
const oldImage = "docker.io/istio/proxyv2:1.26.0";
const newImage = "docker.io/istio/proxyv2:1.27.0";

describe("after an upgrade of Istio", () => {
  test("each workload is restarted once, with Fortsa's annotation, by server-side apply under our own name", async () => {
    await using place = await meshNamespace(cluster(), "once");
    const kinds = [Deployment, StatefulSet, DaemonSet] as const;
    await Promise.all(kinds.map((kind) => place.put(kind, kind.plural)));
    const operator = await place.startOperator();
    await soon(async () => expect(await metric(operator, "keyturn_sidecars_rolling_workloads")).toBe(0));
    for (const kind of kinds) expect(await place.restartedAt(kind, kind.plural)).toBeUndefined();

    await place.upgrade({ tag: "1.27.0" });
    for (const kind of kinds) {
      await place.hasSidecar(kind, kind.plural, newImage);
      expect(await place.eventSays(kind.plural, "SidecarRestart")).toMatch(
        /^restarted: pod \S+ has the sidecar docker.io\/istio\/proxyv2:1.26.0; a new pod would get docker.io\/istio\/proxyv2:1.27.0/,
      );
      await place.eventSays(kind.plural, "SidecarRolloutFinished");
      const { metadata, spec } = await place.workload(kind, kind.plural);
      expect(spec?.template.metadata?.annotations?.[restartedAtAnnotation]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(metadata.managedFields?.filter(({ manager }) => manager === "keyturn-sidecars").map(({ operation }) => operation)).toEqual(["Apply"]);
    }
    expect(await metric(operator, 'keyturn_sidecars_restarts_total{reason="ImageDiffers"}')).toBe(3);
  });
});

test("a new leader restarts nothing that was restarted already", async () => {
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

test("no more workloads roll at a time than may, and each that is finished makes room for the next", async () => {
  await using place = await meshNamespace(cluster(), "budget");
  const names = ["a", "b", "c", "d", "e"];
  await Promise.all(names.map((name) => place.put(Deployment, name, { replicas: 1 })));
  let most = 0;
  const watching = setInterval(() => {
    void place.cluster.client
      .list(Deployment, { namespace: place.namespace, labels: rolloutLabel })
      .then(({ items }) => (most = Math.max(most, items.length)));
  }, 20);
  try {
    await place.startOperator({ "sidecars.max-rollouts": "2" });
    await place.upgrade({ tag: "1.27.0" });
    for (const name of names) await place.hasSidecar(Deployment, name, newImage);
  } finally {
    clearInterval(watching);
  }
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(2);
});

test("a rollout that does not get healthy stops all further ones, until it does", async () => {
  await using place = await meshNamespace(cluster(), "stuck");
  await place.put(Deployment, "a", { replicas: 1 });
  await place.put(Deployment, "b", { replicas: 1 });
  const operator = await place.startOperator({ "sidecars.max-rollouts": "1", "sidecars.rollout-timeout": "1s" });
  // Its next pod will find no node.
  await cluster().kubectl("-n", place.namespace, "rollout", "pause", "deployment/a");
  await cluster().kubectl(
    "-n",
    place.namespace,
    "patch",
    "deployment",
    "a",
    "-p",
    '{"spec":{"template":{"spec":{"nodeSelector":{"nowhere":"yes"}}}}}',
  );
  await place.upgrade({ tag: "1.27.0" });
  await place.hasSidecar(Deployment, "b", newImage);
  expect(await place.eventSays("a", "Paused")).toContain("resume it");
  expect(operator).toBeDefined();
});

describe("left alone", () => {
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
});
