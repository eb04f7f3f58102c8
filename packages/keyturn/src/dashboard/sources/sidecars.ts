// The records of workloads: what the plan of this moment says about each.
import type { Health, WorkloadRecord } from "@keyturn/dashboard/contract";
import {
  DaemonSet,
  type DeepReadonly,
  Deployment,
  Job,
  type Kind,
  type ObjectKey,
  Pod,
  ReplicaSet,
  resourceOf,
  StatefulSet,
  type Timer,
} from "@keyturn/runtime";
import { restartTimeMs } from "../../controllers/sidecars/annotations.ts";
import { FleetRecord, type SidecarsView } from "../../controllers/sidecars/fleet.ts";
import { idsIn } from "../../controllers/sidecars/inspect.ts";
import {
  type Decision,
  lastOf,
  planRollouts,
  type Row,
  type WorkloadId,
  type WorkloadRef,
  workloadRef,
} from "../../controllers/sidecars/rollout-plan.ts";
import { skipInWords } from "../../controllers/sidecars/rollouts.ts";
import { idOfWorkload, workloadsOfPodChange, workloadsOfReplicaSetChange } from "../../controllers/sidecars/watches.ts";
import { Rollout, type Workload } from "../../controllers/sidecars/workload.ts";
import { defined, objectRef, type RecordSource, shownText, type SourceScope } from "../record-source.ts";

/** What is known of a workload. */
interface ShownWorkload {
  readonly ref: WorkloadRef;
  readonly kind: Kind;
  /** What is decided about it; undefined if there is nothing to decide. */
  readonly row: Row | undefined;
  /** Undefined for pods that nobody can restart. */
  readonly workload: Pick<DeepReadonly<Workload>, "restartedAt"> | undefined;
}

function workloadRecordId({ kind, namespace, name }: WorkloadRef): string {
  return `workload/${kind}/${namespace}/${name}`;
}

/** The record; undefined for a workload that is as it should be and was never restarted. */
export function workloadRecord({ ref, kind, row, workload }: ShownWorkload): WorkloadRecord | undefined {
  const restartedMs = restartTimeMs(workload?.restartedAt);
  if (!row && restartedMs === undefined) return undefined;
  const { health, phase, reason, message } = row ? verdictOf(row.decision) : done;
  const decision = row?.decision;
  const untilMs = decision && "untilMs" in decision ? decision.untilMs : undefined;
  return {
    type: "workload",
    id: workloadRecordId(ref),
    step: "sidecars",
    ref: objectRef(kind, ref),
    health,
    reason,
    message,
    ...defined("sinceMs", phase === "rolling" || phase === "done" ? restartedMs : undefined),
    conditions: [],
    ...defined("nextMs", untilMs),
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

function verdictOf(decision: Decision): WorkloadPhase {
  switch (decision.type) {
    case "restart":
      return { health: "progressing", phase: "outdated", reason: "Outdated", message: "is restarted next" };
    case "rolling":
      if (!decision.stuck) return rolling;
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

// Looks at the workloads of the step "roll out" through the controller's own eyes, and plans with its own plan; restarts nothing.

const kinds: readonly Kind[] = [Deployment, StatefulSet, DaemonSet, Rollout, ReplicaSet, Job, Pod];

/** Stands for no record: touched when the plan is to be made anew. */
const planKey = "workload/plan";

/** How long workloads are inspected in one go. */
const turnMs = 8;

/** Rollouts are among the kinds that are shown only if they are looked at. */
export function sidecarsSource(
  { touch, clock }: Pick<SourceScope, "touch" | "clock">,
  { sight, argoRollouts }: { readonly sight: SidecarsView; readonly argoRollouts: boolean },
): RecordSource {
  const shown = kinds.filter((kind) => argoRollouts || kind !== Rollout);
  return new SidecarsSource({ touch, clock }, { sight, resources: shown.map(resourceOf) });
}

class SidecarsSource implements RecordSource {
  readonly step = "sidecars";
  readonly resources: readonly string[];
  readonly #scope: Pick<SourceScope, "touch" | "clock">;
  readonly #sight: SidecarsView;
  readonly #record = new FleetRecord();
  readonly #toInspect = new Set<WorkloadId>();
  readonly #followed = new Set<string>();
  #rows: ReadonlyMap<WorkloadId, Row> = new Map();
  #planned = true;
  #timer: Timer | undefined;

  constructor(
    scope: Pick<SourceScope, "touch" | "clock">,
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

  readonly make: RecordSource["make"] = (key) => {
    const id = key.slice("workload/".length);
    const ref = workloadRef(id);
    const kind = kinds.find((candidate) => candidate.kind === ref.kind);
    const record =
      kind && ref.name !== "" ? workloadRecord({ ref, kind, row: this.#rows.get(id), workload: this.#sight.inspector.workload(id) }) : undefined;
    return record && { record, againAtMs: undefined };
  };

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
