// Fills the cluster with injected pods as Deployments make them: some workloads with the sidecar of an older Istio.
import { type Client, Deployment, isApiError, Namespace, Pod, ReplicaSet } from "@keyturn/runtime";
import { applyPatch } from "../../packages/keyturn/src/controllers/sidecars/injection/json-patch.ts";
import { draftPod } from "../../packages/keyturn/src/controllers/sidecars/injection/pod-draft.ts";
import { injectionPatch } from "../../packages/keyturn/src/dev/stand-ins/istiod/pod-injection.ts";
import { defaultProxySettings, type ProxySettings } from "../../packages/keyturn/src/dev/stand-ins/istiod/proxy-settings.ts";
import type { Bed } from "../scenario.ts";

/** How much of it. */
export interface FleetSize {
  readonly workloads: number;
  readonly podsEach: number;
  readonly outdated: number;
}

export const fleetNamespace = "bench-sidecars";
export const fleetSettings: ProxySettings = { ...defaultProxySettings, revision: "bench", tag: "1.27.0" };
const writers = 16;

/** Creates the workloads with their ReplicaSets and pods; those that are there already stay as they are. No controller makes or replaces any. */
export async function seedFleet({ cluster: { client }, say }: Bed, { workloads, podsEach, outdated }: FleetSize): Promise<void> {
  say(`creating ${workloads} Deployments with ${podsEach} injected pods each`);
  await unlessThere(() => client.create(Namespace, { metadata: { name: fleetNamespace, labels: { "istio.io/rev": fleetSettings.revision } } }));
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < workloads) {
      const index = next++;
      await seedWorkload(client, `app-${String(index).padStart(4, "0")}`, { podsEach, tag: index < outdated ? "1.26.0" : fleetSettings.tag });
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
}

async function seedWorkload(client: Client, app: string, { podsEach, tag }: { readonly podsEach: number; readonly tag: string }): Promise<void> {
  const namespace = fleetNamespace;
  if (await client.get(Deployment, { namespace, name: app })) return;
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
  const injected = injectedPod(draft, tag);
  const ownerReferences = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: `${app}-1`, uid: replicaSet.metadata.uid, ...controller }];
  for (let pod = 0; pod < podsEach; pod++) {
    const { generateName: _generated, ...metadata } = injected.metadata;
    await client.create(Pod, { ...injected, metadata: { ...metadata, name: `${app}-1-${pod}`, ownerReferences } });
  }
}

/** What the control plane of this version makes of a pod. */
function injectedPod(draft: Pod, tag: string): Pod {
  const patch = injectionPatch(draft, { namespace: fleetNamespace, settings: { ...fleetSettings, tag }, proxyEnv: {} });
  // The stand-in's own patch of a pod gives a pod.
  return applyPatch(draft, patch) as Pod;
}

async function unlessThere(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw error;
  }
}
