// What is kept of a workload: what its pods are made from, how far its rollout is, and what has been said about restarting it.
import {
  type Cache,
  type Client,
  type ControllerScope,
  DaemonSet,
  defineKind,
  type Deployment,
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
import { pausedAnnotation, type Selects, selectsAll } from "../../feature/pause-and-selection.ts";
import { consentLabel, restartedAtAnnotation, restartedForAnnotation, restartTimeMs, rolloutLabel } from "./annotations.ts";
import { templateDigest } from "./injection/expectation.ts";
import type { PodSource } from "./injection/pod-draft.ts";
import type { SkipReason } from "./reasons.ts";
import type { Progress, WorkloadRef } from "./rollout-plan.ts";
import type { SidecarsWatches } from "./watches.ts";

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
  readonly restarting: boolean;
  /** As it stands in the template; for a Rollout, `spec.restartAt`. */
  readonly restartedAt: string | undefined;
  readonly blocker: SkipReason | undefined;
  readonly consent: string | undefined;
  /** The annotation that pauses it, as it was written. */
  readonly paused: string | undefined;
  /** False if it is outside of what the operator looks after. */
  readonly isSelected: boolean;
  readonly restartedFor: string | undefined;
  readonly deleting: boolean;
}

/** Its pod template, read back. */
export function templateOf({ templateJson }: Pick<Workload, "templateJson">): PodTemplateSpec {
  // Written by `workload` below, from nothing else.
  return JSON.parse(templateJson) as PodTemplateSpec;
}

/** The pod template and what the rest depends on, found differently in each kind. */
interface Particulars {
  readonly selects: Selects;
  readonly kind: PodSource["kind"];
  readonly template: PodTemplateSpec | undefined;
  readonly selector: LabelSelector | undefined;
  readonly desired: number;
  readonly progress: Progress;
  readonly blocker: SkipReason | undefined;
  readonly restartedAt?: string | undefined;
  readonly source?: Pick<PodSource, "serviceName" | "volumeClaims" | "templateGeneration">;
}

export function keepDeployment(deployment: Stored<Deployment>, selects: Selects = selectsAll): Workload {
  const { spec, status = {} } = deployment;
  const desired = spec?.replicas ?? 1;
  const updated = status.updatedReplicas ?? 0;
  return workload(deployment, {
    selects,
    kind: "Deployment",
    template: spec?.template,
    selector: spec?.selector,
    desired,
    progress: progressOf(deployment, {
      replaced: updated >= desired && (status.replicas ?? 0) <= updated,
      healthy: (status.availableReplicas ?? 0) >= desired,
    }),
    blocker: spec?.paused ? "Paused" : undefined,
  });
}

export function keepStatefulSet(statefulSet: Stored<StatefulSet>, selects: Selects = selectsAll): Workload {
  const { spec, status = {} } = statefulSet;
  const desired = spec?.replicas ?? 1;
  const { type, rollingUpdate } = spec?.updateStrategy ?? {};
  const volumeClaims = spec?.volumeClaimTemplates?.flatMap(({ metadata: { name } }) => name ?? []);
  return workload(statefulSet, {
    selects,
    kind: "StatefulSet",
    template: spec?.template,
    selector: spec?.selector,
    desired,
    progress: progressOf(statefulSet, {
      replaced: (status.updatedReplicas ?? 0) >= desired && status.currentRevision === status.updateRevision,
      healthy: (status.availableReplicas ?? 0) >= desired,
    }),
    blocker: type === "OnDelete" ? "OnDelete" : (rollingUpdate?.partition ?? 0) > 0 ? "Partitioned" : undefined,
    source: { ...(spec?.serviceName !== undefined && { serviceName: spec.serviceName }), ...(volumeClaims && { volumeClaims }) },
  });
}

export function keepDaemonSet(daemonSet: Stored<DaemonSet>, selects: Selects = selectsAll): Workload {
  const { spec, status = {}, metadata } = daemonSet;
  const desired = status.desiredNumberScheduled ?? 0;
  const templateGeneration = Number(metadata.annotations?.["deprecated.daemonset.template.generation"] ?? 1);
  return workload(daemonSet, {
    selects,
    kind: "DaemonSet",
    template: spec?.template,
    selector: spec?.selector,
    desired,
    progress: progressOf(daemonSet, {
      replaced: (status.updatedNumberScheduled ?? 0) >= desired,
      healthy: (status.numberAvailable ?? 0) >= desired,
    }),
    blocker: spec?.updateStrategy?.type === "OnDelete" ? "OnDelete" : undefined,
    source: { templateGeneration },
  });
}

/** A Rollout that takes its template from another workload has none of its own, and cannot be asked about. */
export function keepRollout(rollout: Stored<Rollout>, selects: Selects = selectsAll): Workload {
  const { spec, status = {}, metadata } = rollout;
  const desired = spec?.replicas ?? 1;
  const observed = Number(status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const isRestarted = spec?.restartAt === undefined || (restartTimeMs(status.restartedAt) ?? 0) >= (restartTimeMs(spec.restartAt) ?? 0);
  const replaced = observed && isRestarted && (status.updatedReplicas ?? 0) >= desired;
  return workload(rollout, {
    selects,
    kind: "Rollout",
    template: spec?.template,
    selector: spec?.selector,
    desired,
    progress: !replaced ? "rolling" : status.phase === "Healthy" ? "finished" : "unhealthy",
    blocker: spec?.template === undefined ? "UnsupportedOwner" : spec.paused ? "Paused" : undefined,
    restartedAt: spec?.restartAt,
  });
}

/** Keeps an object of any of the kinds; they differ by the kind alone. */
export function keepAny(kind: Kind, object: Stored<KubeObject>): Workload {
  if (kind === StatefulSet) return keepStatefulSet(object);
  if (kind === DaemonSet) return keepDaemonSet(object);
  return kind === Rollout ? keepRollout(object) : keepDeployment(object);
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
  const { kind, template = {}, selector, desired, progress, blocker, source, selects } = particulars;
  const { namespace = "", name, uid, labels = {}, annotations = {} } = object.metadata;
  return {
    ref: { kind, namespace, name },
    source: { kind, namespace, name, uid, ...source },
    templateJson: JSON.stringify(template),
    templateDigest: templateDigest(template),
    selector: selectorText(selector),
    desired,
    progress,
    restarting: labels[rolloutLabel] !== undefined,
    restartedAt: particulars.restartedAt ?? template.metadata?.annotations?.[restartedAtAnnotation],
    blocker,
    consent: labels[consentLabel],
    paused: annotations[pausedAnnotation],
    isSelected: selects(object.metadata),
    restartedFor: annotations[restartedForAnnotation],
    deleting: isBeingDeleted(object),
  };
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

// Argo Rollouts, known as far as restarting them needs. They join the watched workloads once the API server serves them: an operator that waited for a CRD
// that never comes would do nothing at all.

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

/** How often it is looked whether the CRD is there. */
export const lookForRolloutsMs = 15_000;

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

/** How Rollouts are watched. */
export interface RolloutWatch {
  readonly fields: string | undefined;
  readonly selects: Selects;
  readonly onChange: (cache: Cache<Workload>, key: string) => void;
}

/** Adds the watch of Rollouts, and calls `onChange` with the keys of those that change. */
export function watchRollouts(
  { watch }: Pick<ControllerScope, "watch">,
  { workloads }: Pick<SidecarsWatches, "workloads">,
  { fields, selects, onChange }: RolloutWatch,
): void {
  const cache = watch(Rollout, { keep: (object) => keepRollout(object, selects), ...(fields !== undefined && { fields }) });
  workloads.set(Rollout.kind, cache);
  cache.subscribe(({ key }) => onChange(cache, key));
}
