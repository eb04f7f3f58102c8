// A restart never makes things worse: nothing is restarted whose new pods are refused, and nobody can make us restart again and again.
import { isDeepStrictEqual } from "node:util";
import { Deployment, type Stored } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { restartedAtAnnotation, rolloutLabel, rolloutLabelValue } from "../../packages/keyturn/src/workloads/annotations.ts";
import { startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import { type MeshNamespace, meshNamespace, metric } from "./mesh-namespace.ts";

const cluster = useSharedCluster();
const oldImage = "docker.io/istio/proxyv2:1.26.0";
const newImage = "docker.io/istio/proxyv2:1.27.0";

/** From now on every new pod is refused; those that run go on. */
async function refusesPods(place: MeshNamespace): Promise<void> {
  await place.labelNamespace({ "pod-security.kubernetes.io/enforce": "restricted" });
  await soon(() => expect(place.tryPod()).rejects.toThrow("PodSecurity"));
}

async function admitsPods(place: MeshNamespace): Promise<void> {
  await place.labelNamespace({ "pod-security.kubernetes.io/enforce": null });
  await soon(() => place.tryPod());
}

test("workloads whose new pods the API server refuses are not restarted, and are once it admits them", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "refused");
  await Promise.all([
    place.put(Deployment, "recreated", { replicas: 3, spec: { strategy: { type: "Recreate" } } }),
    place.put(Deployment, "web", { replicas: 1 }),
  ]);
  await refusesPods(place);
  await place.startOperator();
  await place.upgrade({ tag: "1.27.0" });
  for (const name of ["recreated", "web"]) {
    expect(await place.eventSays(name, "PodRefused")).toContain("PodSecurity");
    expect(await place.restartedAt(Deployment, name)).toBeUndefined();
  }
  expect(await place.sidecars("recreated")).toEqual([oldImage]);
  expect(await place.pods("recreated")).toHaveLength(3);
  await admitsPods(place);
  // What istiod reads has changed, so that everything is asked again at once.
  await place.upgrade({ tag: "1.28.0" });
  await place.hasSidecar(Deployment, "recreated", "docker.io/istio/proxyv2:1.28.0");
  await place.hasSidecar(Deployment, "web", "docker.io/istio/proxyv2:1.28.0");
});

test("a dry run says the same: what would be refused, what would be restarted now, and what later", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "dry");
  const names = ["a", "b", "c"];
  await Promise.all(names.map((name) => place.put(Deployment, name, { replicas: 1 })));
  await refusesPods(place);
  const operator = await place.startOperator({ "sidecars.dry-run": "true", "sidecars.max-rollouts": "1" });
  const lines = (msg: string, more: object) =>
    operator.logLines.filter((line) => line["msg"] === `would have ${msg}; withheld by dry run` && isDeepStrictEqual({ ...line, ...more }, line));
  await place.upgrade({ tag: "1.27.0" });
  for (const name of names) {
    const workload = `Deployment/${place.namespace}/${name}`;
    await soon(() => expect(lines("recorded an Event", { workload, reason: "PodRefused" })).toHaveLength(1));
    expect(lines("restarted a workload", { workload })).toEqual([]);
  }
  await admitsPods(place);
  await place.upgrade({ tag: "1.28.0" });
  await soon(() => {
    expect(lines("restarted a workload", { workload: `Deployment/${place.namespace}/a` })).toHaveLength(1);
    for (const name of ["b", "c"])
      expect(lines("restarted a workload later", { workload: `Deployment/${place.namespace}/${name}`, reason: "RolloutLimit" })).not.toEqual([]);
  });
  await operator.stop();
  for (const name of names) {
    expect(await place.restartedAt(Deployment, name)).toBeUndefined();
    expect(await place.events(name)).toEqual([]);
  }
});

test("where the operator may not ask, one workload of a namespace shows what becomes of the others", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "unasked");
  const names = ["a", "b", "c"];
  await Promise.all(names.map((name) => place.put(Deployment, name, { replicas: 1 })));
  await refusesPods(place);
  const operator = await place.startOperator({ "sidecars.check-admission": "false" });
  await place.upgrade({ tag: "1.27.0" });
  await soon(async () => expect(await metric(operator, 'keyturn_sidecars_waiting_workloads{reason="FirstPod"}')).toBe(2));
  const restarted = await Promise.all(names.map((name) => place.restartedAt(Deployment, name)));
  expect(restarted.filter((time) => time !== undefined)).toHaveLength(1);
  await admitsPods(place);
  for (const name of names) await place.hasSidecar(Deployment, name, newImage);
});

test("an owner that writes its whole object back is restarted once and left alone", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "owner");
  await place.put(Deployment, "owned", { replicas: 1 });
  const { client } = cluster();
  const name = { namespace: place.namespace, name: "owned" };
  let takenBack = 0;
  const { spec } = (await client.get(Deployment, name)) as Stored<Deployment>;
  const stop = new AbortController();
  const owning = (async () => {
    while (!stop.signal.aborted) {
      const object = await client.get(Deployment, name);
      if (object?.spec?.template.metadata?.annotations?.[restartedAtAnnotation] !== undefined && spec) {
        const { labels: _labels, annotations: _annotations, ...metadata } = object.metadata;
        // A conflict is only that somebody else was quicker.
        await client.replace(Deployment, { ...object, metadata, spec }).then(
          () => takenBack++,
          () => undefined,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  try {
    await place.startOperator();
    await place.upgrade({ tag: "1.27.0" });
    await soon(() => expect(takenBack).toBe(1));
    const generation = await place.generation(Deployment, "owned");
    // Whatever makes the operator look again, it stays as it is.
    await place.labelNamespace({ "keyturn.io/sidecar-restarts": "enabled" });
    await place.put(Deployment, "web", { replicas: 1 });
    expect([takenBack, await place.generation(Deployment, "owned")]).toEqual([1, generation]);
  } finally {
    stop.abort();
    await owning;
  }
});

test("where somebody else's webhook puts the sidecar back as it was, nothing is restarted in vain", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "in-vain");
  await place.put(Deployment, "web", { replicas: 1 });
  await using other = await startIstiod(place.istiod.settings);
  await place.putWebhooks({ metadata: { name: `zz-other-${place.namespace}` }, webhooks: other.revisionConfiguration().webhooks ?? [] });
  const operator = await place.startOperator();
  await place.upgrade({ tag: "1.27.0" });
  await soon(() =>
    expect(operator.logLines).toContainEqual(
      expect.objectContaining({
        msg: "not restarted: on a last look there is no reason for it any more",
        workload: `Deployment/${place.namespace}/web`,
      }),
    ),
  );
  // What the API server said is kept: it is no longer outdated, for the operator as for `keyturn plan`.
  await soon(async () => expect(await operator.metrics()).not.toMatch(/keyturn_sidecars_outdated_workloads\{.*\} [1-9]/));
  expect(await place.restartedAt(Deployment, "web")).toBeUndefined();
});

test("a label that a tenant wrote holds nobody else up", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "forged");
  await Promise.all([
    place.put(Deployment, "forged", {
      replicas: 1,
      labels: { [rolloutLabel]: rolloutLabelValue },
      podAnnotations: { [restartedAtAnnotation]: "2020-01-01T00:00:00Z" },
      podSpec: { nodeSelector: { none: "such" } },
      unready: true,
    }),
    place.put(Deployment, "web", { replicas: 1 }),
  ]);
  const operator = await place.startOperator({ "sidecars.max-rollouts": "1", "sidecars.rollout-timeout": "1s" });
  await place.upgrade({ tag: "1.27.0" });
  await place.hasSidecar(Deployment, "web", newImage);
  await soon(async () => expect((await metric(operator, "keyturn_sidecars_stuck_rollouts")) ?? 0).toBe(0));
});
