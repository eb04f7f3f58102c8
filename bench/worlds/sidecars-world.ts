// Injected pods as Deployments make them, some workloads with the sidecar of an older Istio, and the control plane that is asked about them.
import { applyJsonPatch, type Client, Deployment, MutatingWebhookConfiguration, Namespace, Pod, ReplicaSet } from "@keyturn/runtime";
import { draftPod } from "../../packages/keyturn/src/workloads/pod-draft.ts";
import { type Istiod, startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import { defaultProxySettings, injectionPatch, type ProxySettings } from "../../packages/keyturn/src/dev/stand-ins/istiod-injection.ts";
import type { Bed } from "../scenario.ts";
import type { ControllerWorld } from "./controller-worlds.ts";
import { forEachIndex } from "./seeding.ts";

/** The pods of each workload. */
export const podsEach = 20;
const settings: ProxySettings = { ...defaultProxySettings, revision: "bench", tag: "1.27.0" };

/** So many of a fleet's workloads are outdated: one in 25. */
function outdatedOf(workloads: number): number {
  return Math.ceil(workloads / 25);
}

/** The namespace of the fleet with so many workloads. */
function fleetNamespace(workloads: number): string {
  return `bench-sidecars-${workloads}`;
}

/** A fleet's control plane. */
interface FleetIstiod extends AsyncDisposable {
  readonly istiod: Istiod;
}

/** Creates the workloads with their ReplicaSets and 20 pods each. No controller makes or replaces any. */
export async function seedFleet({ cluster: { client }, say }: Bed, workloads: number): Promise<void> {
  say(`creating ${workloads} Deployments with ${podsEach} injected pods each`);
  const namespace = fleetNamespace(workloads);
  await client.create(Namespace, { metadata: { name: namespace, labels: { "istio.io/rev": settings.revision } } });
  await forEachIndex(workloads, async (index) => {
    const tag = index < outdatedOf(workloads) ? "1.26.0" : settings.tag;
    await seedWorkload(client, { namespace, app: `app-${String(index).padStart(4, "0")}`, tag });
  });
}

/** Starts the control plane whose webhook answers for every fleet; there is one at a time. */
export async function startFleetIstiod({ cluster }: Bed): Promise<FleetIstiod> {
  await using stack = new AsyncDisposableStack();
  const istiod = stack.use(await startIstiod(settings));
  const configuration = istiod.revisionConfiguration();
  await cluster.apply({ apiVersion: "admissionregistration.k8s.io/v1", kind: "MutatingWebhookConfiguration", ...configuration });
  stack.defer(() => cluster.client.delete(MutatingWebhookConfiguration, { name: configuration.metadata.name ?? "" }).then(() => undefined));
  const owned = stack.move();
  return { istiod, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The seeded fleet with so many workloads. It stays for the next round. */
export function fleetWorld(workloads: number): ControllerWorld {
  const namespace = fleetNamespace(workloads);
  return {
    namespace,
    // It runs dry, so that every round finds the same.
    flags: { "sidecars.dry-run": "true", "sidecars.istiod-config-read-delay": "0", "sidecars.max-rollouts": "0" },
    wanted: outdatedOf(workloads),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function seedWorkload(
  client: Client,
  { namespace, app, tag }: { readonly namespace: string; readonly app: string; readonly tag: string },
): Promise<void> {
  const labels = { app };
  const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: `example.com/${app}:1` }] } };
  const selector = { matchLabels: labels };
  const deployment = await client.create(Deployment, { metadata: { namespace, name: app }, spec: { replicas: podsEach, selector, template } });
  const source = { kind: "Deployment", namespace, name: app, uid: deployment.metadata.uid, template } as const;
  const draft = draftPod(source);
  const controller = { controller: true, blockOwnerDeletion: true } as const;
  const replicaSet = await client.create(ReplicaSet, {
    metadata: {
      namespace,
      name: `${app}-1`,
      labels,
      ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: app, uid: deployment.metadata.uid, ...controller }],
    },
    spec: { replicas: podsEach, selector, template },
  });
  const injected = injectedPod(draft, namespace, tag);
  const ownerReferences = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: `${app}-1`, uid: replicaSet.metadata.uid, ...controller }];
  for (let pod = 0; pod < podsEach; pod++) {
    const { generateName: _generated, ...metadata } = injected.metadata;
    await client.create(Pod, { ...injected, metadata: { ...metadata, name: `${app}-1-${pod}`, ownerReferences } });
  }
}

/** What the control plane of this version makes of a pod. */
function injectedPod(draft: Pod, namespace: string, tag: string): Pod {
  const patch = injectionPatch(draft, { namespace, settings: { ...settings, tag }, proxyEnv: {} });
  // The stand-in's own patch of a pod gives a pod.
  return applyJsonPatch(draft, patch) as Pod;
}
