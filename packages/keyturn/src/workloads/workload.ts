// What is kept of a workload: what its pods are made from, how far its rollout is, and what has been said about restarting it.
import { hash } from "node:crypto";
import {
  canonicalJson,
  type Client,
  DaemonSet,
  type DeepReadonly,
  defineKind,
  Deployment,
  isApiError,
  isBeingDeleted,
  type Kind,
  type KubeObject,
  type LabelSelector,
  type PodTemplateSpec,
  StatefulSet,
  type Stored,
} from "@keyturn/runtime";
import * as z from "zod";
import { pausedAnnotation, type Selects, selectsAll } from "../feature/pause-and-selection.ts";
import { restartedAtAnnotation, restartedForAnnotation, restartTimeMs, rolloutLabel, rolloutStrategyAnnotation } from "./annotations.ts";
import type { PodSource } from "./pod-draft.ts";
import type { SkipReason } from "./reasons.ts";
import type { Progress, WorkloadRef } from "./rollout-plan.ts";

/** A workload in memory. The template is JSON text, which takes far less room than objects and is needed only when a webhook is asked. */
export interface Workload {
  readonly ref: WorkloadRef;
  readonly source: Omit<PodSource, "template">;
  readonly templateJson: string;
  readonly templateDigest: string;
  /** Selects its pods, in the API's own syntax. */
  readonly selector: string;
  /** How many pods it should have. */
  readonly desired: number;
  readonly progress: Progress;
  readonly generation: number;
  /** The first pod of its last change is there. */
  readonly isStarted: boolean;
  readonly restarting: boolean;
  /** As it stands where it is restarted by. */
  readonly restartedAt: string | undefined;
  readonly restartedBy: RestartField;
  /** The time in the other field of a Rollout, of which an earlier restart can have been: it stays as it is. */
  readonly otherRestartedAt: string | undefined;
  readonly blocker: SkipReason | undefined;
  /** Those that an inspector reads. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** The annotations in which inspectors keep what its pods were started with. */
  readonly records: Readonly<Record<string, string>>;
  /** The annotation that pauses it, as it was written. */
  readonly paused: string | undefined;
  /** False if it is outside of what the operator looks after. */
  readonly isSelected: boolean;
  readonly restartedFor: string | undefined;
  readonly deleting: boolean;
}

/** What a restart changes: the annotation of the pod template, or `spec.restartAt` of a Rollout. */
type RestartField = "template" | "restartAt";

/** What of workloads is kept, beyond what all are restarted by. */
interface WorkloadChoices {
  /** Which workloads are looked at. Default all. */
  readonly selects?: Selects;
  /** Names of labels and annotations that are kept. Default none. */
  readonly reads?: (name: string) => boolean;
  /** Names of the annotations in which is kept what pods were started with. Default none. */
  readonly records?: readonly string[];
}

/** Its pod template, read back. */
export function templateOf({ templateJson }: Pick<Workload, "templateJson">): PodTemplateSpec {
  // Written by `workload` below, from nothing else.
  return JSON.parse(templateJson) as PodTemplateSpec;
}

/** The pod template and what the rest depends on, found differently in each kind. */
interface Particulars {
  readonly choices: WorkloadChoices;
  readonly kind: PodSource["kind"];
  readonly template: PodTemplateSpec | undefined;
  readonly selector: LabelSelector | undefined;
  readonly desired: number;
  readonly progress: Progress;
  /** Pods of the last change, as far as it was observed. */
  readonly updated: number;
  readonly blocker: SkipReason | undefined;
  /** Default: the annotation of the template. */
  readonly restart?: Pick<Workload, "restartedAt" | "restartedBy" | "otherRestartedAt">;
  readonly source?: Pick<PodSource, "serviceName" | "volumeClaims" | "templateGeneration">;
}

export function keepDeployment(deployment: Stored<Deployment>, choices: WorkloadChoices = {}): Workload {
  const { spec, status = {} } = deployment;
  const desired = spec?.replicas ?? 1;
  const updated = status.updatedReplicas ?? 0;
  return workload(deployment, {
    choices,
    kind: "Deployment",
    template: spec?.template,
    selector: spec?.selector,
    desired,
    progress: progressOf(deployment, {
      replaced: updated >= desired && (status.replicas ?? 0) <= updated,
      healthy: (status.availableReplicas ?? 0) >= desired,
    }),
    updated,
    blocker: spec?.paused ? "Paused" : undefined,
  });
}

export function keepStatefulSet(statefulSet: Stored<StatefulSet>, choices: WorkloadChoices = {}): Workload {
  const { spec, status = {} } = statefulSet;
  const desired = spec?.replicas ?? 1;
  const { type, rollingUpdate } = spec?.updateStrategy ?? {};
  const volumeClaims = spec?.volumeClaimTemplates?.flatMap(({ metadata: { name } }) => name ?? []);
  return workload(statefulSet, {
    choices,
    kind: "StatefulSet",
    template: spec?.template,
    selector: spec?.selector,
    desired,
    progress: progressOf(statefulSet, {
      replaced: (status.updatedReplicas ?? 0) >= desired && status.currentRevision === status.updateRevision,
      healthy: (status.availableReplicas ?? 0) >= desired,
    }),
    updated: status.updatedReplicas ?? 0,
    blocker: type === "OnDelete" ? "OnDelete" : (rollingUpdate?.partition ?? 0) > 0 ? "Partitioned" : undefined,
    source: { ...(spec?.serviceName !== undefined && { serviceName: spec.serviceName }), ...(volumeClaims && { volumeClaims }) },
  });
}

export function keepDaemonSet(daemonSet: Stored<DaemonSet>, choices: WorkloadChoices = {}): Workload {
  const { spec, status = {}, metadata } = daemonSet;
  const desired = status.desiredNumberScheduled ?? 0;
  const templateGeneration = Number(metadata.annotations?.["deprecated.daemonset.template.generation"] ?? 1);
  return workload(daemonSet, {
    choices,
    kind: "DaemonSet",
    template: spec?.template,
    selector: spec?.selector,
    desired,
    progress: progressOf(daemonSet, {
      replaced: (status.updatedNumberScheduled ?? 0) >= desired,
      healthy: (status.numberAvailable ?? 0) >= desired,
    }),
    updated: status.updatedNumberScheduled ?? 0,
    blocker: spec?.updateStrategy?.type === "OnDelete" ? "OnDelete" : undefined,
    source: { templateGeneration },
  });
}

/** A Rollout that takes its template from another workload has none of its own, and cannot be asked about. */
export function keepRollout(rollout: Stored<Rollout>, choices: WorkloadChoices = {}): Workload {
  const { spec, status = {}, metadata } = rollout;
  const desired = spec?.replicas ?? 1;
  const observed = Number(status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const isRestarted = spec?.restartAt === undefined || (restartTimeMs(status.restartedAt) ?? 0) >= (restartTimeMs(spec.restartAt) ?? 0);
  const inTemplate = spec?.template?.metadata?.annotations?.[restartedAtAnnotation];
  const replaced = observed && isRestarted && (status.updatedReplicas ?? 0) >= desired;
  return workload(rollout, {
    choices,
    kind: "Rollout",
    template: spec?.template,
    selector: spec?.selector,
    desired,
    progress: !replaced ? "rolling" : status.phase === "Healthy" ? "finished" : "unhealthy",
    updated: isRestarted ? (status.updatedReplicas ?? 0) : 0,
    blocker: spec?.template === undefined ? "UnsupportedOwner" : spec.paused ? "Paused" : undefined,
    restart:
      metadata.annotations?.[rolloutStrategyAnnotation] === "rollout"
        ? { restartedBy: "template", restartedAt: inTemplate, otherRestartedAt: spec?.restartAt }
        : { restartedBy: "restartAt", restartedAt: spec?.restartAt, otherRestartedAt: inTemplate },
  });
}

/** The same figures that `kubectl rollout status` waits for. */
function progressOf(
  { metadata, status }: KubeObject & { readonly status?: { readonly observedGeneration?: number } },
  { replaced, healthy }: { readonly replaced: boolean; readonly healthy: boolean },
): Progress {
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0) || !replaced) return "rolling";
  return healthy ? "finished" : "unhealthy";
}

function workload(object: Stored<KubeObject>, particulars: Particulars): Workload {
  const { kind, template = {}, selector, desired, progress, blocker, source } = particulars;
  const inTemplate = template.metadata?.annotations?.[restartedAtAnnotation];
  const { restart = { restartedBy: "template", restartedAt: inTemplate, otherRestartedAt: undefined } } = particulars;
  const { selects = selectsAll, reads = () => false, records = [] } = particulars.choices;
  const read = (entries: Readonly<Record<string, string>>) => Object.fromEntries(Object.entries(entries).filter(([key]) => reads(key)));
  const { namespace = "", name, uid, labels = {}, annotations = {} } = object.metadata;
  return {
    ref: { kind, namespace, name },
    source: { kind, namespace, name, uid, ...source },
    templateJson: JSON.stringify(template),
    templateDigest: templateDigest(template),
    selector: selectorText(selector),
    desired,
    progress,
    generation: object.metadata.generation ?? 0,
    isStarted: progress !== "rolling" || (isObserved(object) && (particulars.updated > 0 || desired === 0)),
    restarting: labels[rolloutLabel] !== undefined,
    ...restart,
    blocker,
    labels: read(labels),
    annotations: read(annotations),
    records: Object.fromEntries(Object.entries(annotations).filter(([key]) => records.includes(key))),
    paused: annotations[pausedAnnotation],
    isSelected: selects(object.metadata),
    restartedFor: annotations[restartedForAnnotation],
    deleting: isBeingDeleted(object),
  };
}

/** The status is about the spec as it is. Rollouts write the generation as text. */
function isObserved(object: KubeObject & { readonly status?: { readonly observedGeneration?: number | string } }): boolean {
  return Number(object.status?.observedGeneration ?? 0) >= (object.metadata.generation ?? 0);
}

/** A selector of a workload as a query of the API. */
function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): string {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      if (operator === "Exists") return key;
      if (operator === "DoesNotExist") return `!${key}`;
      return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
    }),
  ].join(",");
}

// Argo Rollouts, known as far as restarting them needs. They join the watched workloads once the API server serves them.

export interface Rollout extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector?: LabelSelector;
    /** Absent if `workloadRef` names a Deployment that has it. */
    readonly template?: PodTemplateSpec;
    readonly paused?: boolean;
    /** Pods that are older are replaced, within the strategy's limits. */
    readonly restartAt?: string;
  };
  readonly status?: {
    /** The generation, as text. */
    readonly observedGeneration?: string;
    readonly phase?: string;
    readonly restartedAt?: string;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
}
export const Rollout = defineKind<Rollout>({ group: "argoproj.io", version: "v1alpha1", kind: "Rollout", plural: "rollouts", namespaced: true });

const resourcesSchema = z.object({ resources: z.array(z.object({ name: z.string() })) });

/** True if the API server serves Rollouts. */
export async function servesRollouts(client: Client, signal?: AbortSignal): Promise<boolean> {
  try {
    const answer = await client.request({ method: "GET", path: `/apis/${Rollout.group}/${Rollout.version}` }, signal);
    return resourcesSchema.parse(answer).resources.some(({ name }) => name === Rollout.plural);
  } catch (error) {
    if (isApiError(error, "NotFound")) return false;
    throw error;
  }
}

// The kinds that can be restarted, in one table.

/** A kind that can be restarted. */
interface RestartableKind {
  readonly kind: Kind;
  /** What is kept of an object of it. */
  keep(this: void, object: Stored<KubeObject>, choices?: WorkloadChoices): Workload;
  /** Its pods belong to ReplicaSets, which belong to it. */
  readonly viaReplicaSets: boolean;
}

/** By name. Rollouts are the last, and the only ones that not every API server has. */
export const restartableKinds: ReadonlyMap<string, RestartableKind> = new Map<string, RestartableKind>([
  [Deployment.kind, { kind: Deployment, keep: keepDeployment, viaReplicaSets: true }],
  [StatefulSet.kind, { kind: StatefulSet, keep: keepStatefulSet, viaReplicaSets: false }],
  [DaemonSet.kind, { kind: DaemonSet, keep: keepDaemonSet, viaReplicaSets: false }],
  [Rollout.kind, { kind: Rollout, keep: keepRollout, viaReplicaSets: true }],
]);

// What its pods are made from.

/** Annotations that say when to restart and nothing about what runs. */
const restartAnnotations = new Set([restartedAtAnnotation, "kubectl.kubernetes.io/restartedAt"]);

/** A digest of a pod template that a restart does not change. */
export function templateDigest(template: DeepReadonly<PodTemplateSpec>): string {
  const annotations = Object.entries(template.metadata?.annotations ?? {}).filter(([name]) => !restartAnnotations.has(name));
  const { creationTimestamp: _never, ...metadata } = template.metadata ?? {};
  const text = canonicalJson({ ...template, metadata: { ...metadata, annotations: Object.fromEntries(annotations) } });
  return hash("sha256", text).slice(0, 32);
}
