// What people see of workloads: what the plan of this moment says about each, or at least what was left on those that were restarted.
import type { DashboardRecord, Health, NextStep, ObjectRef, WorkloadRecord } from "@keyturn/dashboard/contract";
import {
  type Cache,
  DaemonSet,
  type DeepReadonly,
  Deployment,
  Job,
  keyOf,
  type Kind,
  type KubeObject,
  nameOf,
  type ObjectKey,
  Pod,
  ReplicaSet,
  resourceOf,
  StatefulSet,
  type Stored,
  type Timer,
} from "@keyturn/runtime";
import {
  defined,
  happened,
  inNamespace,
  noStory,
  objectReport,
  type ObjectStory,
  type Records,
  type RecordScope,
  type RecordSource,
  shownText,
} from "../../feature/record.ts";
import { consentLabel, restartedForAnnotation, restartTimeMs, rolloutLabel } from "./annotations.ts";
import { FleetRecord, type SidecarsView } from "./fleet.ts";
import { sidecarsFlags } from "./flags.ts";
import { idsIn } from "./inspect.ts";
import { type Decision, lastOf, planRollouts, type Row, type WorkloadId, type WorkloadRef, workloadRef } from "./rollout-plan.ts";
import { skipInWords } from "./rollouts.ts";
import { idOfWorkload, workloadsOfPodChange, workloadsOfReplicaSetChange } from "./watches.ts";
import { keepAny, Rollout, type Workload } from "./workload.ts";

/** What is known of a workload. */
interface ShownWorkload {
  readonly ref: WorkloadRef;
  readonly kind: Kind;
  /** What is decided about it; undefined if there is nothing to decide. */
  readonly row: Omit<Row, "id" | "ref"> | undefined;
  /** Undefined for pods that nobody can restart. */
  readonly workload: (Pick<DeepReadonly<Workload>, "restartedAt"> & Partial<Pick<Workload, "progress" | "desired">>) | undefined;
}

/** When it is, and when a rollout counts as stuck; 0 for never. */
interface RolloutTimes {
  readonly rolloutTimeoutMs: number;
  readonly nowMs: number;
}

function workloadRecordId({ kind, namespace, name }: WorkloadRef): string {
  return `workload/${kind}/${namespace}/${name}`;
}

/** The record; undefined for a workload that is as it should be and was never restarted. */
export function workloadRecord({ ref, kind, row, workload }: ShownWorkload, times: RolloutTimes): WorkloadRecord | undefined {
  const restartedMs = restartTimeMs(workload?.restartedAt);
  if (!row && restartedMs === undefined) return undefined;
  const { health, phase, reason, message } = row ? verdictOf(row.decision, workload?.progress) : done;
  const decision = row?.decision;
  const untilMs = decision && "untilMs" in decision ? decision.untilMs : undefined;
  const next = untilMs === undefined ? undefined : { atMs: untilMs, what: decision?.type === "wait" ? "may be restarted" : "is looked at again" };
  const { desired } = workload ?? {};
  return {
    type: "workload",
    id: workloadRecordId(ref),
    step: "sidecars",
    ...objectReport(
      kind,
      { metadata: ref },
      {
        health,
        reason,
        message,
        sinceMs: phase === "rolling" || phase === "done" ? restartedMs : undefined,
        detail: desired === undefined ? (row?.outdated ?? "") : `${desired} ${desired === 1 ? "pod" : "pods"}`,
        about: [ref.name],
        next: phase === "rolling" && health === "progressing" ? stuckAt(restartedMs, times) : next,
      },
    ),
    phase,
    ...defined("outdated", row?.outdated),
    why: shownText(row?.why ?? ""),
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

const done: WorkloadPhase = { health: "healthy", phase: "done", reason: "Current", message: "its pods have the sidecar that new ones would get" };

const rolling: WorkloadPhase = {
  health: "progressing",
  phase: "rolling",
  reason: "Rolling",
  message: "was restarted for its sidecar; its pods are being replaced",
};

function verdictOf(decision: Decision, progress: Workload["progress"] | undefined): WorkloadPhase {
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
        message: "was restarted for its sidecar and is not healthy in time; see its pods",
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
  Partial<Pick<Workload, "progress" | "desired">>;

/** The record; undefined for a workload that the controller has nothing to do with at present. */
export function restartedRecord(kind: Kind, workload: RestartedWorkload, times: RolloutTimes): WorkloadRecord | undefined {
  const { ref, restarting, restartedAt, restartedFor } = workload;
  if (!restarting && restartedFor === undefined) return undefined;
  const restartedMs = restartTimeMs(restartedAt);
  const stuck = restartedMs !== undefined && times.rolloutTimeoutMs > 0 && restartedMs + times.rolloutTimeoutMs <= times.nowMs;
  const decision = restarting ? ({ type: "rolling", stuck } as const) : ({ type: "skip", reason: "RestartWithoutEffect" } as const);
  return workloadRecord({ ref, kind, row: { outdated: undefined, why: "", decision }, workload }, times);
}

/** A workload by its marks alone. */
function markedWorkload({ kind }: Kind, { metadata }: Stored<KubeObject>): RestartedWorkload | undefined {
  const { namespace = "", name, labels = {}, annotations = {} } = metadata;
  const restartedFor = annotations[restartedForAnnotation];
  const restarting = labels[rolloutLabel] !== undefined;
  return restarting || restartedFor !== undefined ? { ref: { kind, namespace, name }, restarting, restartedAt: undefined, restartedFor } : undefined;
}

function story(ref: ObjectRef, record: DashboardRecord): ObjectStory {
  if (record.type !== "workload") return noStory;
  const { resource, name } = ref;
  const where = inNamespace(ref);
  return {
    history: happened(record.restartedMs, "was restarted for its sidecar"),
    commands: [
      { what: "what would be restarted", command: `keyturn plan sidecars${where}` },
      { what: "how its rollout fares", command: `kubectl rollout status ${resource}/${name}${where}` },
      { what: "never restart it for its sidecar", command: `kubectl label ${resource} ${name}${where} ${consentLabel}=disabled` },
    ],
  };
}

/** What of them anybody may see; the page looks through `fleetRecords`. */
export const sidecarsRecords: Records = {
  story,
  watch({ watch, touch, flag, unserved }) {
    const rolloutTimeoutMs = flag(sidecarsFlags.rolloutTimeout);
    const restartable: readonly Kind[] = [Deployment, StatefulSet, DaemonSet, Rollout].filter((kind) => !unserved.includes(kind));
    const caches = restartable.map((kind) => {
      const keepRolling = (object: Stored<KubeObject>): RestartedWorkload => keepAny(kind, object);
      // What is rolling is known better from the whole object.
      const rolling: Cache<RestartedWorkload | undefined> = watch(kind, { labels: rolloutLabel, keep: keepRolling });
      const marked = watch(kind, { only: "metadata", keep: (object: Stored<KubeObject>) => markedWorkload(kind, object) });
      for (const cache of [rolling, marked]) cache.subscribe(({ key }) => touch(`workload/${idOfWorkload(kind, key)}`));
      return { kind, rolling, marked };
    });
    return {
      step: "sidecars",
      resources: restartable.map(resourceOf),
      caches: () => caches.flatMap(({ rolling, marked }) => [rolling, marked]),
      ids: () =>
        new Set(
          caches.flatMap(({ kind, rolling, marked }) =>
            [...rolling.entries(), ...marked.entries()].map(([key]) => workloadRecordId({ kind: kind.kind, namespace: "", ...nameOf(key) })),
          ),
        ),
      make(id, nowMs) {
        const ref = workloadRef(id.slice("workload/".length));
        const found = caches.find(({ kind }) => kind.kind === ref.kind);
        const key = keyOf(ref);
        const marked = found?.marked.get(key);
        const workload = found?.rolling.get(key) ?? (marked?.restarting ? undefined : marked);
        const record = found && workload && restartedRecord(found.kind, workload, { rolloutTimeoutMs, nowMs });
        return record && { record, againAtMs: record.next?.atMs };
      },
    };
  },
};

// Looks at the workloads through the controller's own eyes, and plans with its own plan; restarts nothing.

const kinds: readonly Kind[] = [Deployment, StatefulSet, DaemonSet, Rollout, ReplicaSet, Job, Pod];

/** Stands for no record: touched when the plan is to be made anew. */
const planKey = "workload/plan";

/** How long workloads are inspected in one go. */
const turnMs = 8;

/** The records through the eyes of a controller. Rollouts are among the kinds that are shown only if they are looked at. */
export function fleetRecords({ touch, clock, flag }: Pick<RecordScope, "touch" | "clock" | "flag">, sight: SidecarsView): RecordSource {
  const shown = kinds.filter((kind) => flag(sidecarsFlags.argoRollouts) || kind !== Rollout);
  return new FleetRecords({ touch, clock }, { sight, resources: shown.map(resourceOf) });
}

class FleetRecords implements RecordSource {
  readonly step = "sidecars";
  readonly resources: readonly string[];
  readonly #scope: Pick<RecordScope, "touch" | "clock">;
  readonly #sight: SidecarsView;
  readonly #record = new FleetRecord();
  readonly #toInspect = new Set<WorkloadId>();
  readonly #followed = new Set<string>();
  #rows: ReadonlyMap<WorkloadId, Row> = new Map();
  #planned = true;
  #timer: Timer | undefined;

  constructor(
    scope: Pick<RecordScope, "touch" | "clock">,
    { sight, resources }: { readonly sight: SidecarsView; readonly resources: readonly string[] },
  ) {
    this.resources = resources;
    this.#scope = scope;
    this.#sight = sight;
    const { pods, replicaSets, namespaces, configuration } = sight.watches;
    const inspect = (ids: Iterable<WorkloadId>): void => this.#inspectSoon(ids);
    this.#followWorkloads();
    pods.subscribe((change) => inspect(workloadsOfPodChange(change, replicaSets)));
    replicaSets.subscribe((change) => inspect(workloadsOfReplicaSetChange(change)));
    namespaces.subscribe(({ key }) => inspect(idsIn(sight.watches, key)));
    for (const cache of [configuration.webhooks, ...configuration.configMaps]) cache.subscribe(() => inspect(idsIn(sight.watches)));
    sight.onAnswer((id) => inspect([id]));
  }

  readonly caches: RecordSource["caches"] = () => {
    const { workloads, pods, replicaSets, namespaces, configuration } = this.#sight.watches;
    return [...workloads.values(), pods, replicaSets, namespaces, configuration.webhooks, ...configuration.configMaps];
  };

  /** Inspects what was touched, and plans anew if that has changed anything. */
  readonly prepare = (nowMs: number): void => {
    const { inspector, limits } = this.#sight;
    this.#followWorkloads();
    const untilMs = this.#scope.clock.monotonic() + turnMs;
    for (const id of this.#toInspect) {
      if (this.#scope.clock.monotonic() > untilMs) return this.#scope.touch(planKey);
      this.#toInspect.delete(id);
      const inspection = inspector.inspect(id);
      if (this.#record.record(id, inspection)) this.#planned = false;
      if (inspection.againInMs !== undefined) this.#scope.clock.setTimer(inspection.againInMs, () => this.#inspectSoon([id]));
    }
    if (this.#planned) return;
    this.#planned = true;
    const lastRestartMs = limits.restartDelayMs > 0 ? this.#lastRestartMs(nowMs) : undefined;
    const { rows, nextAtMs } = planRollouts({ candidates: this.#record.candidates, rolling: new Map(), lastRestartMs }, limits, nowMs);
    const before = this.#rows;
    this.#rows = new Map(rows.map((row) => [row.id, row]));
    for (const id of new Set([...before.keys(), ...this.#rows.keys()])) {
      if (JSON.stringify(before.get(id)) !== JSON.stringify(this.#rows.get(id))) this.#scope.touch(workloadRecordId(workloadRef(id)));
    }
    this.#timer?.cancel();
    this.#timer = nextAtMs === undefined ? undefined : this.#scope.clock.setTimer(nextAtMs - nowMs, () => this.#planSoon());
  };

  readonly make: RecordSource["make"] = (key, nowMs) => {
    const id = key.slice("workload/".length);
    const ref = workloadRef(id);
    const kind = kinds.find((candidate) => candidate.kind === ref.kind);
    const record =
      kind && ref.name !== ""
        ? workloadRecord(
            { ref, kind, row: this.#rows.get(id), workload: this.#sight.inspector.workload(id) },
            { rolloutTimeoutMs: this.#sight.limits.rolloutTimeoutMs, nowMs },
          )
        : undefined;
    return record && { record, againAtMs: undefined };
  };

  readonly ids: RecordSource["ids"] = () => idsIn(this.#sight.watches).map((id) => workloadRecordId(workloadRef(id)));

  readonly find: NonNullable<RecordSource["find"]> = (resource, name) => {
    const kind = kinds.find((candidate) => resourceOf(candidate) === resource);
    return kind && { kind, id: workloadRecordId({ kind: kind.kind, ...name }) };
  };

  /** Rollouts join the workloads when their CRD is there. */
  #followWorkloads(): void {
    for (const [name, cache] of this.#sight.watches.workloads) {
      if (this.#followed.has(name)) continue;
      this.#followed.add(name);
      cache.subscribe(({ key }: { readonly key: ObjectKey }) => this.#inspectSoon([idOfWorkload(cache.kind, key)]));
    }
  }

  #inspectSoon(ids: Iterable<WorkloadId>): void {
    for (const id of ids) {
      this.#toInspect.add(id);
      this.#scope.touch(workloadRecordId(workloadRef(id)));
    }
  }

  #planSoon(): void {
    this.#planned = false;
    this.#scope.touch(planKey);
  }

  #lastRestartMs(nowMs: number): number | undefined {
    const caches = Array.from(this.#sight.watches.workloads.values());
    return lastOf(
      caches.flatMap((cache) => Array.from(cache.entries(), ([, { restartedAt }]) => restartTimeMs(restartedAt))),
      nowMs,
    );
  }
}
