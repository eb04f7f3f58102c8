// Upgrades end to end: real Deployments, StatefulSets and DaemonSets, injected by the API server, rolled by the real controllers, restarted by ours.
import { randomUUID } from "node:crypto";
import { DaemonSet, defineKind, Deployment, type Kind, type KubeObject, ReplicaSet, StatefulSet } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { type Istiod, startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import { type MeshNamespace, meshNamespace, type WorkloadKind } from "./mesh-namespace.ts";

const cluster = useSharedCluster();

/** The API server itself takes a moment to go by changed webhooks and labels; what is restarted before that gets the old sidecar again. */
const settled = { "sidecars.istiod-config-read-delay": "2s" };

const workloads: readonly (readonly [WorkloadKind, string])[] = [
  [Deployment, "web"],
  [StatefulSet, "store"],
  [DaemonSet, "agent"],
];

/** One of each kind, and one that has opted out of injection. */
async function putAll(place: MeshNamespace): Promise<void> {
  await Promise.all([
    ...workloads.map(([kind, name]) => place.put(kind, name)),
    place.put(Deployment, "apart", { replicas: 1, podLabels: { "sidecar.istio.io/inject": "false" } }),
  ]);
}

/** Waits until all have this sidecar, and checks that each was restarted exactly this often and the one apart never. */
async function allHave(place: MeshNamespace, sidecar: string, restarts: number): Promise<void> {
  for (const [kind, name] of workloads) {
    await soon(async () => expect([name, await templates(place, kind, name)]).toEqual([name, 1 + restarts]));
    await place.hasSidecar(kind, name, sidecar);
    expect([name, await templates(place, kind, name)]).toEqual([name, 1 + restarts]);
  }
  expect(await place.sidecars("apart")).toEqual(["none"]);
  expect(await templates(place, Deployment, "apart")).toBe(1);
}

const ControllerRevision = defineKind<KubeObject>({
  group: "apps",
  version: "v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  namespaced: true,
});

/** How many templates a workload has had, by what Kubernetes keeps of each. */
async function templates(place: MeshNamespace, kind: WorkloadKind, name: string): Promise<number> {
  const kept: Kind = kind === Deployment ? ReplicaSet : ControllerRevision;
  return (await place.cluster.client.list(kept, { namespace: place.namespace, labels: `app=${name}` })).items.length;
}

/** The revisions that injected a workload's pods, each once. */
async function revisions(place: MeshNamespace, name: string): Promise<readonly unknown[]> {
  const statuses = (await place.pods(name)).map(({ metadata }) => metadata.annotations?.["sidecar.istio.io/status"] ?? "{}");
  return Array.from(new Set(statuses.map((status) => (JSON.parse(status) as { revision?: unknown }).revision)));
}

/** A further control plane, to be installed next to a namespace's own. It is started first so that it is stopped last. */
function startNext(tag: string): Promise<Istiod> {
  const id = randomUUID().slice(0, 8);
  return startIstiod({ revision: `next-${id}`, namespace: `istio-${id}`, tag });
}

function proxy(tag: string): string {
  return `docker.io/istio/proxyv2:${tag}`;
}

describe("an upgrade in place", { concurrent: true }, () => {
  test("restarts each workload once, and each further upgrade once more", async () => {
    await using place = await meshNamespace(cluster(), "in-place");
    await putAll(place);
    await place.startOperator(settled);
    await place.upgrade({ tag: "1.27.0" });
    await allHave(place, proxy("1.27.0"), 1);
    await place.upgrade({ tag: "1.27.1" });
    await allHave(place, proxy("1.27.1"), 2);
    expect(await place.eventSays("web", "SidecarRestart")).toContain(proxy("1.27.0"));
  });

  test("to native sidecars, with whole sidecars compared, restarts each once; pods that are as new ones would be are not touched", async () => {
    await using place = await meshNamespace(cluster(), "native");
    await putAll(place);
    await place.startOperator({ ...settled, "sidecars.compare-whole": "true" });
    await place.upgrade({ nativeSidecars: true });
    await allHave(place, proxy("1.26.0"), 1);
    for (const [, name] of workloads) {
      for (const { spec } of await place.pods(name)) expect(spec?.initContainers?.map((container) => container.name)).toContain("istio-proxy");
    }
    await place.upgrade({ resources: { requests: { cpu: "200m" } }, env: { ISTIO_META_DNS_CAPTURE: "true" } });
    await allHave(place, proxy("1.26.0"), 2);
  });
});

test("a tag that is led to another revision takes its namespaces along", { concurrent: true }, async () => {
  await using next = await startNext("1.27.0");
  await using place = await meshNamespace(cluster(), "tag", { namespace: next.settings.namespace });
  const tag = `${place.istiod.settings.revision}-stable`;
  await place.install(next);
  await place.putWebhooks(place.istiod.tagConfiguration(tag));
  await place.labelNamespace({ "istio.io/rev": tag });
  await putAll(place);
  await place.startOperator(settled);
  await place.putWebhooks(next.tagConfiguration(tag));
  await allHave(place, proxy("1.27.0"), 1);
  expect(await revisions(place, "web")).toEqual([next.settings.revision]);
  await place.putWebhooks(place.istiod.tagConfiguration(tag));
  await allHave(place, proxy("1.26.0"), 2);
});

test("a namespace that names another revision gets that one's sidecars, also when their image is the same", { concurrent: true }, async () => {
  await using next = await startNext("1.26.0");
  await using place = await meshNamespace(cluster(), "moved", { namespace: next.settings.namespace, tag: "1.26.0" });
  await place.install(next);
  await putAll(place);
  await place.startOperator(settled);
  await place.labelNamespace({ "istio.io/rev": next.settings.revision });
  await soon(async () => {
    for (const [, name] of workloads) expect([name, await revisions(place, name)]).toEqual([name, [next.settings.revision]]);
  });
  await allHave(place, proxy("1.26.0"), 1);
});

test("injection that is switched off takes the sidecars away, and switched on again brings them back", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "switched");
  const { revision, tag } = place.istiod.settings;
  await putAll(place);
  await place.startOperator(settled);
  await place.labelNamespace({ "istio.io/rev": null });
  await allHave(place, "none", 1);
  await place.labelNamespace({ "istio.io/rev": revision });
  await allHave(place, proxy(tag), 2);
});
