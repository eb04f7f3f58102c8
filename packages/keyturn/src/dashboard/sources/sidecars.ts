// Looks at the workloads of the step "roll out" through the controller's own eyes, and plans with its own plan; restarts nothing.
import { DaemonSet, Deployment, type Kind, Job, type ObjectKey, Pod, ReplicaSet, resourceOf, StatefulSet, type Timer } from "@keyturn/runtime";
import { type WorkloadId, workloadRef } from "../../controllers/sidecars/candidate.ts";
import { FleetRecord } from "../../controllers/sidecars/fleet.ts";
import { idsIn } from "../../controllers/sidecars/inspector.ts";
import { restartTimeMs } from "../../controllers/sidecars/marks.ts";
import { lastOf, planRollouts, type Row } from "../../controllers/sidecars/plan.ts";
import { Rollout } from "../../controllers/sidecars/rollout-kind.ts";
import type { SidecarsSight } from "../../controllers/sidecars/sight.ts";
import { idOfWorkload, workloadsOfPodChange, workloadsOfReplicaSetChange } from "../../controllers/sidecars/watches.ts";
import type { RecordSource, SourceScope } from "../record-source.ts";
import { workloadRecord, workloadRecordId } from "../records/workload.ts";

const kinds: readonly Kind[] = [Deployment, StatefulSet, DaemonSet, Rollout, ReplicaSet, Job, Pod];

/** Stands for no record: touched when the plan is to be made anew. */
const planKey = "workload/plan";

/** How long workloads are inspected in one go. */
const turnMs = 8;

/** Rollouts are among the kinds that are shown only if they are looked at. */
export function sidecarsSource(
  { touch, clock }: Pick<SourceScope, "touch" | "clock">,
  { sight, argoRollouts }: { readonly sight: SidecarsSight; readonly argoRollouts: boolean },
): RecordSource {
  const shown = kinds.filter((kind) => argoRollouts || kind !== Rollout);
  return new SidecarsSource({ touch, clock }, { sight, resources: shown.map(resourceOf) });
}

class SidecarsSource implements RecordSource {
  readonly step = "sidecars";
  readonly resources: readonly string[];
  readonly #scope: Pick<SourceScope, "touch" | "clock">;
  readonly #sight: SidecarsSight;
  readonly #record = new FleetRecord();
  readonly #toInspect = new Set<WorkloadId>();
  readonly #followed = new Set<string>();
  #rows: ReadonlyMap<WorkloadId, Row> = new Map();
  #planned = true;
  #timer: Timer | undefined;

  constructor(
    scope: Pick<SourceScope, "touch" | "clock">,
    { sight, resources }: { readonly sight: SidecarsSight; readonly resources: readonly string[] },
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
