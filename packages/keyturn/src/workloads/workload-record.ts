// How a workload is shown that may have to be restarted: one record, from the plan of this moment or from what was left on the workload.
import {
  type CommandView,
  type Facet,
  type Health,
  type NextStep,
  type ObjectRecord,
  type ObjectRef,
  shellCommand,
} from "@keyturn/dashboard/contract";
import { DaemonSet, type DeepReadonly, Deployment, type Kind, type KubeObject, resourceOf, StatefulSet, type Stored } from "@keyturn/runtime";
import type { FlagReader } from "../feature/feature.ts";
import type { Flag } from "../feature/flag.ts";
import {
  cellAt,
  defined,
  factAt,
  factText,
  happened,
  inNamespace,
  laidOut,
  objectReport,
  type ObjectStory,
  type RecordBase,
  type Records,
  shownText,
} from "../feature/record.ts";
import { restartedForAnnotation, restartTimeMs, rolloutLabel } from "./annotations.ts";
import type { FleetOptions } from "./fleet.ts";
import { skipInWords } from "./reasons.ts";
import { splitDigest } from "./restart-digest.ts";
import type { Decision, Limits, Row, WorkloadRef } from "./rollout-plan.ts";
import type { Workload } from "./workload.ts";

/** What is particular about the workloads that one inspector looks after, for people. */
export interface RolloutView {
  /** The name of the inspector and its feature. */
  readonly step: string;
  /** Their records' ids begin with it. */
  readonly prefix: string;
  /** What they were restarted for, such as `for its sidecar`. */
  readonly restartedFor: string;
  /** Said of those that are as they should be. */
  readonly current: string;
  readonly layout: Pick<Records["layout"], "title" | "about"> & { readonly empty: string };
  readonly flags: { readonly rolloutTimeout: Flag<number>; readonly argoRollouts: Flag<boolean> };
  /** The fleet of a viewer who may ask what new pods would get. */
  fleet(flag: FlagReader): { readonly options: FleetOptions; readonly limits: Limits };
  /** How to keep one from being restarted. */
  leaveAlone(ref: ObjectRef): CommandView;
  /** What the inspector has left on a workload for people to see. Default nothing. */
  readonly marks?: (workload: Pick<Workload, "ref" | "records">) => Marks | undefined;
  /** The annotation that `marks` reads. */
  readonly markAnnotation?: string;
  /** Its digests do not begin with its name. */
  readonly hasBareDigests?: true;
}

/** What an inspector's own annotation says of a workload. */
interface Marks {
  /** What it uses, by name. */
  readonly about: readonly string[];
  /** What it is behind with, in words; undefined if it is not. */
  readonly behind: string | undefined;
}

/** What is known of a workload. */
interface ShownWorkload {
  readonly ref: WorkloadRef;
  readonly kind: Kind;
  /** What is decided about it; undefined if there is nothing to decide. */
  readonly row: Omit<Row, "id" | "ref" | "by"> | undefined;
  /** Undefined for pods that nobody can restart. */
  readonly workload:
    | (Pick<DeepReadonly<Workload>, "restartedAt"> & Partial<Pick<DeepReadonly<Workload>, "progress" | "desired" | "records">>)
    | undefined;
}

/**
 * A workload. Those whose pods are as new ones would be are shown as `done` if Keyturn has restarted or marked them, and else not at all.
 * `health` is made from the decision: restart and rolling are progressing, wait is paused, skip is degraded, stuck is failed.
 */
export interface WorkloadRecord extends RecordBase {
  /** `outdated`: to be restarted now. `rolling`: being restarted. `waiting`: will be restarted. `heldBack`: will not be. `unknown`: not known. */
  readonly phase: "outdated" | "rolling" | "done" | "waiting" | "heldBack" | "unknown";
  /** What is wrong with its pods, in one word; absent if nothing is or if it is not known. */
  readonly outdated?: string;
  /** The same in words, or why it is not known. */
  readonly why: string;
  /** What the plan of this moment does with it: the words of `keyturn plan`. */
  readonly decision?: {
    readonly type: "restart" | "rolling" | "finish" | "wait" | "skip" | "unknown";
    readonly reason?: string;
    readonly untilMs?: number;
  };
  /** A rollout that takes longer than it may. */
  readonly stuck: boolean;
  readonly restartedMs?: number;
}

/** When it is, and when a rollout counts as stuck; 0 for never. */
interface RolloutTimes {
  readonly rolloutTimeoutMs: number;
  readonly nowMs: number;
}

export function workloadRecordId({ prefix }: Pick<RolloutView, "prefix">, { kind, namespace, name }: WorkloadRef): string {
  return `${prefix}/${kind}/${namespace}/${name}`;
}

/** What is known of it; undefined for a workload that is as it should be and was never restarted. */
export function workloadRecord(view: RolloutView, { ref, kind, row, workload }: ShownWorkload, times: RolloutTimes): WorkloadRecord | undefined {
  const restartedMs = restartTimeMs(workload?.restartedAt);
  const marks = view.marks?.({ ref, records: workload?.records ?? {} });
  if (!row && (view.marks ? !marks : restartedMs === undefined)) return undefined;
  const { health, phase, reason, message } = row ? verdictOf(view, row.decision, workload?.progress) : standingOf(view, marks);
  const decision = row?.decision;
  const untilMs = decision && "untilMs" in decision ? decision.untilMs : undefined;
  const next = untilMs === undefined ? undefined : { atMs: untilMs, what: decision?.type === "wait" ? "may be restarted" : "is looked at again" };
  const { desired } = workload ?? {};
  return {
    id: workloadRecordId(view, ref),
    step: view.step,
    ...objectReport(
      kind,
      { metadata: ref },
      {
        health,
        reason,
        message,
        sinceMs: phase === "rolling" || phase === "done" ? restartedMs : undefined,
        detail: desired === undefined ? (row?.outdated ?? "") : `${desired} ${desired === 1 ? "pod" : "pods"}`,
        about: [ref.name, ...(marks?.about ?? [])],
        next: phase === "rolling" && health === "progressing" ? stuckAt(restartedMs, times) : next,
      },
    ),
    phase,
    ...defined("outdated", row?.outdated),
    why: shownText(row?.why ?? marks?.behind ?? ""),
    ...(decision && {
      decision: { type: decision.type, ...("reason" in decision && { reason: decision.reason }), ...defined("untilMs", untilMs) },
    }),
    stuck: decision?.type === "rolling" && decision.stuck,
    ...defined("restartedMs", restartedMs),
  };
}

/** From when on a rollout counts as stuck, if that is to come. */
function stuckAt(restartedMs: number | undefined, { rolloutTimeoutMs, nowMs }: RolloutTimes): NextStep | undefined {
  const atMs = restartedMs === undefined || rolloutTimeoutMs === 0 ? undefined : restartedMs + rolloutTimeoutMs;
  return atMs === undefined || atMs <= nowMs ? undefined : { atMs, what: "counts as stuck unless it is healthy by then" };
}

interface WorkloadPhase extends Pick<WorkloadRecord, "phase" | "reason" | "message"> {
  readonly health: Health;
}

/** Without anything to decide, as far as its marks say. */
function standingOf({ step, current }: RolloutView, marks: Marks | undefined): WorkloadPhase {
  if (marks?.behind === undefined) return { health: "healthy", phase: "done", reason: "Current", message: current };
  const message = `${marks.behind}; \`keyturn plan ${step}\` says what it waits for`;
  return { health: "degraded", phase: "waiting", reason: "Outdated", message };
}

function verdictOf({ restartedFor }: RolloutView, decision: Decision, progress: Workload["progress"] | undefined): WorkloadPhase {
  const message = `was restarted ${restartedFor}; its pods are being replaced`;
  const rolling: WorkloadPhase = { health: "progressing", phase: "rolling", reason: "Rolling", message };
  switch (decision.type) {
    case "restart":
      return { health: "progressing", phase: "outdated", reason: "Outdated", message: "is restarted next" };
    case "rolling":
      if (!decision.stuck)
        return progress === "unhealthy" ? { ...rolling, message: "all pods are replaced, and not all are available yet" } : rolling;
      return {
        ...rolling,
        health: "failed",
        reason: "RolloutStuck",
        message: `was restarted ${restartedFor} and is not healthy in time; see its pods`,
      };
    case "finish":
      return rolling;
    case "wait":
      return { health: "paused", phase: "waiting", reason: decision.reason, message: "waits, and is restarted without anybody doing anything" };
    case "skip": {
      const isWished = decision.reason === "Paused" || decision.reason === "OptedOut" || decision.reason === "NotOptedIn";
      return { health: isWished ? "paused" : "degraded", phase: "heldBack", reason: decision.reason, message: skipInWords(decision.reason) };
    }
    case "unknown":
    default:
      return { health: "unknown", phase: "unknown", reason: decision.reason, message: "whether it is outdated cannot be told yet" };
  }
}

// From the labels and annotations that the controller left: what anybody sees who may read workloads.

/** As much of a workload as is needed. What is only known by its labels and annotations has no `progress`. */
export type RestartedWorkload = Pick<Workload, "ref" | "restarting" | "restartedAt" | "restartedFor"> &
  Partial<Pick<Workload, "progress" | "desired" | "records">>;

/** The record; undefined for a workload that the controller has nothing to do with at present. */
export function restartedRecord(view: RolloutView, kind: Kind, workload: RestartedWorkload, times: RolloutTimes): WorkloadRecord | undefined {
  const { ref, restarting, restartedAt, restartedFor } = workload;
  const isRestarted = (restarting || restartedFor !== undefined) && isAskedBy(view, restartedFor);
  if (!isRestarted) return view.marks ? workloadRecord(view, { ref, kind, row: undefined, workload }, times) : undefined;
  const restartedMs = restartTimeMs(restartedAt);
  const stuck = restartedMs !== undefined && times.rolloutTimeoutMs > 0 && restartedMs + times.rolloutTimeoutMs <= times.nowMs;
  const decision = restarting ? ({ type: "rolling", stuck } as const) : ({ type: "skip", reason: "RestartWithoutEffect" } as const);
  return workloadRecord(view, { ref, kind, row: { outdated: undefined, why: "", decision }, workload }, times);
}

function isAskedBy({ step, hasBareDigests }: RolloutView, restartedFor: string | undefined): boolean {
  if (restartedFor === undefined) return true;
  return splitDigest(restartedFor).some((digest) => (hasBareDigests ? !digest.includes(":") : digest.startsWith(`${step}:`)));
}

/** A workload by its marks alone. */
export function markedWorkload(
  { markAnnotation = "" }: RolloutView,
  { kind }: Kind,
  { metadata }: Stored<KubeObject>,
): RestartedWorkload | undefined {
  const { namespace = "", name, labels = {}, annotations = {} } = metadata;
  const restartedFor = annotations[restartedForAnnotation];
  const restarting = labels[rolloutLabel] !== undefined;
  const mark = annotations[markAnnotation];
  if (!restarting && restartedFor === undefined && mark === undefined) return undefined;
  const records = mark === undefined ? {} : { [markAnnotation]: mark };
  return { ref: { kind, namespace, name }, restarting, restartedAt: undefined, restartedFor, records };
}

export const phases: readonly (Facet & { readonly id: WorkloadRecord["phase"] })[] = [
  { id: "outdated", title: "outdated", hint: "to be restarted now", health: "progressing" },
  { id: "waiting", title: "waiting", hint: "will be restarted", health: "paused" },
  { id: "rolling", title: "rolling", hint: "being restarted", health: "progressing" },
  { id: "done", title: "done", hint: "pods are current", health: "healthy" },
  { id: "heldBack", title: "held back", hint: "will not be restarted", health: "paused" },
  { id: "unknown", title: "unknown", hint: "cannot be told", health: "unknown" },
];

export function workloadRow(record: WorkloadRecord): ObjectRecord {
  const { ref, phase, outdated, why, message, decision, stuck, restartedMs, next } = record;
  const word = phases.find(({ id }) => id === phase)?.title ?? phase;
  const plan = decision && [decision.type, decision.reason ?? ""].filter(Boolean).join(": ");
  return laidOut(record, {
    table: "workloads",
    facet: phase,
    cells: {
      workload: { main: ref.name, sub: `${ref.kind} · ${ref.namespace}`, look: "link" },
      state: { main: stuck ? "stuck" : word, sub: outdated ?? "", look: "health" },
      why: { main: why === "" ? message : why },
      plan: plan
        ? { main: plan, ...(decision?.untilMs !== undefined && { sub: { atMs: decision.untilMs } }) }
        : { main: "nothing to do", look: "faint" },
      restarted: cellAt(restartedMs, "never"),
    },
    texts: [why, word],
    facts: [
      ...factText("phase", phase),
      ...factText("outdated", outdated),
      ...factText("why", why),
      ...factText("the plan", plan),
      ...factAt("until", decision?.untilMs),
      ...factAt("restarted", restartedMs),
      ...factAt("next", next?.atMs),
    ],
  });
}

/** What `kubectl rollout` knows. */
const watchable: ReadonlySet<string> = new Set([Deployment, StatefulSet, DaemonSet].map(resourceOf));

export function workloadStory(view: RolloutView, ref: ObjectRef, record: WorkloadRecord): ObjectStory {
  const { resource, name } = ref;
  const where = inNamespace(ref);
  return {
    history: happened(record.restartedMs, `was restarted ${view.restartedFor}`),
    commands: [
      { what: "what would be restarted", command: shellCommand`keyturn plan ${view.step} ${where}` },
      ...(watchable.has(resource)
        ? [{ what: "the status of its rollout", command: shellCommand`kubectl rollout status ${resource}/${name} ${where}` }]
        : []),
      view.leaveAlone(ref),
    ],
  };
}
