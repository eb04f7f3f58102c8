// What is watched, what is kept of it, and which workloads a change concerns.
import {
  type Cache,
  type Change,
  ConfigMap,
  type ControllerScope,
  DaemonSet,
  type DeepReadonly,
  Deployment,
  type Kind,
  type KubeObject,
  MutatingWebhookConfiguration,
  Namespace,
  nameOf,
  type ObjectKey,
  Pod,
  ReplicaSet,
  StatefulSet,
  type Stored,
} from "@keyturn/runtime";
import type { Selects } from "../../feature/pause-and-selection.ts";
import { workloadId, type WorkloadId } from "./rollout-plan.ts";
import { type ConfigurationCaches, keepInjectorConfigMap, keepInjectorWebhooks } from "./injector-configuration.ts";
import { deadPod, directOwnerId, keepReplicaSetOwner, type LivePod, podKeeper, type ReplicaSetOwner, restartableId, workloadOfPod } from "./pods.ts";
import { livePhases } from "./pod-selection.ts";
import { keepDaemonSet, keepDeployment, keepStatefulSet, type Workload } from "./workload.ts";

/** The caches. */
export interface SidecarsWatches {
  /** By kind. Rollouts join when their CRD is there. */
  readonly workloads: Map<string, Cache<Workload>>;
  readonly pods: Cache<LivePod | typeof deadPod>;
  readonly replicaSets: Cache<ReplicaSetOwner>;
  /** The labels of each namespace. */
  readonly namespaces: Cache<Readonly<Record<string, string>>>;
  readonly configuration: ConfigurationCaches;
}

/** What to watch. */
interface WatchChoices {
  readonly skipNamespaces: readonly string[];
  readonly istioNamespaces: readonly string[];
  readonly whole: boolean;
  /** Which workloads are looked at. */
  readonly selects: Selects;
}

function keepLabels({ metadata: { labels = {} } }: Stored<KubeObject>): Readonly<Record<string, string>> {
  return labels;
}

/** A field selector for everything outside of these namespaces; undefined for everything. */
export function skippedFields(namespaces: readonly string[]): string | undefined {
  return namespaces.length > 0 ? namespaces.map((name) => `metadata.namespace!=${name}`).join(",") : undefined;
}

/** Declares the watches. */
export function watchSidecars(scope: Pick<ControllerScope, "watch">, choices: WatchChoices): SidecarsWatches {
  const { watch } = scope;
  const { skipNamespaces, istioNamespaces, whole, selects } = choices;
  const elsewhere = skippedFields(skipNamespaces);
  const fields = elsewhere === undefined ? {} : { fields: elsewhere };
  return {
    workloads: new Map<string, Cache<Workload>>([
      [Deployment.kind, watch(Deployment, { ...fields, keep: (object) => keepDeployment(object, selects) })],
      [StatefulSet.kind, watch(StatefulSet, { ...fields, keep: (object) => keepStatefulSet(object, selects) })],
      [DaemonSet.kind, watch(DaemonSet, { ...fields, keep: (object) => keepDaemonSet(object, selects) })],
    ]),
    pods: watch(Pod, {
      fields: elsewhere === undefined ? livePhases : `${livePhases},${elsewhere}`,
      keep: podKeeper({ whole }),
      indexes: { owner: ownerUids, direct: directOwners },
    }),
    replicaSets: watch(ReplicaSet, {
      ...fields,
      only: "metadata",
      keep: keepReplicaSetOwner,
      indexes: { owner: (owner) => (owner ? [owner.uid] : []) },
    }),
    namespaces: watch(Namespace, { only: "metadata", keep: keepLabels }),
    configuration: {
      webhooks: watch(MutatingWebhookConfiguration, { keep: keepInjectorWebhooks }),
      configMaps: [
        // Istio's chart labels them so, wherever it is installed; the namespace is for those that were made by hand.
        watch(ConfigMap, { labels: "istio.io/rev", keep: keepInjectorConfigMap }),
        ...istioNamespaces.map((namespace) => watch(ConfigMap, { namespace, keep: keepInjectorConfigMap })),
      ],
    },
  };
}

function ownerUids(pod: DeepReadonly<LivePod | typeof deadPod>): readonly string[] {
  return pod === deadPod || !pod.owner ? [] : [pod.owner.uid];
}

function directOwners(pod: DeepReadonly<LivePod | typeof deadPod>, key: ObjectKey): readonly string[] {
  return pod === deadPod || !pod.outline ? [] : [directOwnerId(pod, nameOf(key).namespace ?? "")];
}

/** The workloads whose inspection a change of a pod may change. Most changes of a pod are about something else. */
export function workloadsOfPodChange(change: Change<LivePod | typeof deadPod>, replicaSets: Cache<ReplicaSetOwner>): readonly WorkloadId[] {
  const before = "previous" in change && change.previous !== deadPod ? change.previous : undefined;
  const after = "value" in change && change.value !== deadPod ? change.value : undefined;
  if (change.type === "updated" && before?.sidecar === after?.sidecar && before?.restartedAt === after?.restartedAt && !before === !after) return [];
  const isInitial = change.type === "added" && change.initial;
  // Whoever starts looks at every workload anyway, and there may be very many pods.
  if (isInitial && !after?.outline) return [];
  const namespace = nameOf(change.key).namespace ?? "";
  const ids = new Set<WorkloadId>();
  for (const pod of [before, after]) {
    const workload = pod && workloadOfPod(pod, namespace, replicaSets);
    if (workload !== undefined) ids.add(workload);
    if (pod?.outline) ids.add(directOwnerId(pod, namespace));
  }
  return Array.from(ids);
}

/** The workload whose pods a change of a ReplicaSet may add or take away. */
export function workloadsOfReplicaSetChange(change: Change<ReplicaSetOwner>): readonly WorkloadId[] {
  if (change.type === "updated") return [];
  const namespace = nameOf(change.key).namespace ?? "";
  const owners = ["previous" in change ? change.previous : undefined, "value" in change ? change.value : undefined];
  return owners.flatMap((owner) => restartableId(owner, namespace) ?? []);
}

/** The id of a workload by its place in the cache of its kind. */
export function idOfWorkload(kind: Pick<Kind, "kind">, key: ObjectKey): WorkloadId {
  const { namespace = "", name } = nameOf(key);
  return workloadId({ kind: kind.kind, namespace, name });
}
