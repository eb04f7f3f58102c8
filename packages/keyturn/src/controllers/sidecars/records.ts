// What people see of workloads: what the plan of this moment says about each, or at least what was left on those that were restarted.
import { type Facet, type Health, type NextStep, type ObjectRecord, type ObjectRef, shellCommand } from "@keyturn/dashboard/contract";
import {
  type Cache,
  type DeepReadonly,
  Job,
  keyOf,
  type Kind,
  type KubeObject,
  nameOf,
  Pod,
  ReplicaSet,
  resourceOf,
  type Stored,
  type Timer,
} from "@keyturn/runtime";
import {
  cellAt,
  defined,
  factAt,
  factText,
  happened,
  inNamespace,
  laidOut,
  type Made,
  objectReport,
  type ObjectStory,
  type RecordBase,
  type Records,
  type RecordScope,
  type RecordSource,
  shownText,
} from "../../feature/record.ts";
import { operatorNamespaceFlag } from "../../feature/flag.ts";
import { restartedForAnnotation, restartTimeMs, rolloutLabel } from "../../workloads/annotations.ts";
import { Fleet, idOfWorkload } from "../../workloads/fleet.ts";
import { skipInWords } from "../../workloads/reasons.ts";
import { recallRestarts } from "../../workloads/restart-memory.ts";
import { type Decision, type Limits, planRollouts, type Row, type WorkloadId, type WorkloadRef, workloadRef } from "../../workloads/rollout-plan.ts";
import { isRollouts } from "../../workloads/rollouts.ts";
import { restartableKinds, Rollout, type Workload } from "../../workloads/workload.ts";
import { consentLabel } from "./labels.ts";
import { sidecarsFleet } from "./controller.ts";
import { sidecarsFlags, sidecarsOptions } from "./flags.ts";

/** What is known of a workload. */
interface ShownWorkload {
  readonly ref: WorkloadRef;
  readonly kind: Kind;
  /** What is decided about it; undefined if there is nothing to decide. */
  readonly row: Omit<Row, "id" | "ref" | "by"> | undefined;
  /** Undefined for pods that nobody can restart. */
  readonly workload: (Pick<DeepReadonly<Workload>, "restartedAt"> & Partial<Pick<Workload, "progress" | "desired">>) | undefined;
}

/**
 * A workload. Those whose pods all have the sidecar that new ones would get are shown as `done` if Keyturn has restarted them, and else not at all.
 * `health` is made from the decision: restart and rolling are progressing, wait is paused, skip is degraded, stuck is failed.
 */
interface WorkloadRecord extends RecordBase {
  /** `outdated`: to be restarted now. `rolling`: being restarted. `waiting`: will be restarted. `heldBack`: will not be. `unknown`: not known. */
  readonly phase: "outdated" | "rolling" | "done" | "waiting" | "heldBack" | "unknown";
  /** What is wrong with its pods, in one word; absent if nothing is or if it is not known. */
  readonly outdated?: string;
  /** The same in words, or why it is not known. */
  readonly why: string;
  /** What the plan of this moment does with it: the words of `keyturn plan sidecars`. */
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

function workloadRecordId({ kind, namespace, name }: WorkloadRef): string {
  return `workload/${kind}/${namespace}/${name}`;
}

/** What is known of it; undefined for a workload that is as it should be and was never restarted. */
export function workloadRecord({ ref, kind, row, workload }: ShownWorkload, times: RolloutTimes): WorkloadRecord | undefined {
  const restartedMs = restartTimeMs(workload?.restartedAt);
  if (!row && restartedMs === undefined) return undefined;
  const { health, phase, reason, message } = row ? verdictOf(row.decision, workload?.progress) : done;
  const decision = row?.decision;
  const untilMs = decision && "untilMs" in decision ? decision.untilMs : undefined;
  const next = untilMs === undefined ? undefined : { atMs: untilMs, what: decision?.type === "wait" ? "may be restarted" : "is looked at again" };
  const { desired } = workload ?? {};
  return {
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

const phases: readonly (Facet & { readonly id: WorkloadRecord["phase"] })[] = [
  { id: "outdated", title: "outdated", hint: "to be restarted now", health: "progressing" },
  { id: "waiting", title: "waiting", hint: "will be restarted", health: "paused" },
  { id: "rolling", title: "rolling", hint: "being restarted", health: "progressing" },
  { id: "done", title: "done", hint: "pods are current", health: "healthy" },
  { id: "heldBack", title: "held back", hint: "will not be restarted", health: "paused" },
  { id: "unknown", title: "unknown", hint: "cannot be told", health: "unknown" },
];

/** The record on the page, and its story. */
function made(record: WorkloadRecord, againAtMs: number | undefined): Made {
  return { record: workloadRow(record), againAtMs, story: (ref) => workloadStory(ref, record) };
}

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

const layout: Records["layout"] = {
  title: "Roll-out",
  about: "Workloads whose sidecar is outdated, and what the plan of this moment does with them.",
  tables: [
    {
      id: "workloads",
      title: "Workloads",
      empty: {
        title: "No workload is behind",
        text: "Workloads appear here when their sidecar differs from what new pods would get, and after they have been restarted for that.",
        command: "keyturn plan sidecars",
      },
      facets: phases,
      columns: [
        { id: "workload", title: "Workload", width: "minmax(180px, 1.3fr)" },
        { id: "state", title: "State", width: "minmax(120px, 0.8fr)" },
        { id: "why", title: "Why", width: "minmax(160px, 1.8fr)", phone: "line" },
        { id: "plan", title: "The plan", width: "minmax(170px, 1.2fr)", phone: "hidden" },
        { id: "restarted", title: "Restarted", width: "minmax(96px, 0.6fr)", phone: "hidden" },
      ],
    },
  ],
};

export function workloadStory(ref: ObjectRef, record: WorkloadRecord): ObjectStory {
  const { resource, name } = ref;
  const where = inNamespace(ref);
  return {
    history: happened(record.restartedMs, "was restarted for its sidecar"),
    commands: [
      { what: "what would be restarted", command: shellCommand`keyturn plan sidecars ${where}` },
      { what: "how its rollout fares", command: shellCommand`kubectl rollout status ${resource}/${name} ${where}` },
      { what: "never restart it for its sidecar", command: shellCommand`kubectl label ${resource} ${name} ${where} ${consentLabel}=disabled` },
    ],
  };
}

/** What the plan of this moment says about them, for a page that may look at the fleet; what anybody may see of those that were restarted, for `keyturn status`. */
export const sidecarsRecords: Records = {
  layout,
  flags: [sidecarsFlags.rolloutTimeout],
  watch(scope) {
    const { watch, touch, flag, unserved, viewer } = scope;
    if (viewer !== "status") {
      const view = shownFleet(scope);
      return view && fleetRecords(scope, view);
    }
    const rolloutTimeoutMs = flag(sidecarsFlags.rolloutTimeout);
    const restartable = Array.from(restartableKinds.values()).filter(({ kind }) => !unserved.includes(kind));
    const caches = restartable.map(({ kind, keep }) => {
      const keepRolling = (object: Stored<KubeObject>): RestartedWorkload => keep(object);
      // What is rolling is known better from the whole object.
      const rolling: Cache<RestartedWorkload | undefined> = watch(kind, { labels: rolloutLabel, keep: keepRolling });
      const marked = watch(kind, { only: "metadata", keep: (object: Stored<KubeObject>) => markedWorkload(kind, object) });
      for (const cache of [rolling, marked]) cache.subscribe(({ key }) => touch(`workload/${idOfWorkload(kind, key)}`));
      return { kind, rolling, marked };
    });
    return {
      step: "sidecars",
      resources: restartable.map(({ kind }) => resourceOf(kind)),
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
        return record && made(record, record.next?.atMs);
      },
    };
  },
};

/** The fleet of this process's controller, or one of the viewer's own, if it may ask what new pods would get. */
function shownFleet({ running = [], ask, watch, clock, log, flag }: RecordScope): { readonly fleet: Fleet; readonly limits: Limits } | undefined {
  const rollouts = running.find(isRollouts);
  const led = rollouts?.fleet();
  if (rollouts && led) return { fleet: led, limits: rollouts.limits };
  if (!ask) return undefined;
  const options = sidecarsOptions(flag);
  const recall = (signal: AbortSignal) => recallRestarts(ask.client, { operatorNamespace: flag(operatorNamespaceFlag), nowMs: clock.now(), signal });
  const fleet = new Fleet({ ...ask, watch, clock, recall, asker: "viewer" }, sidecarsFleet(options));
  void fleet.followRollouts(log);
  return { fleet, limits: options.limits };
}

// Looks at the workloads through the controller's own eyes, and plans with its own plan; restarts nothing.

const kinds: readonly Kind[] = [...Array.from(restartableKinds.values(), ({ kind }) => kind), ReplicaSet, Job, Pod];

/** Stands for no record: touched when the plan is to be made anew. */
const planKey = "workload/plan";

/** How long workloads are inspected in one go. */
const turnMs = 8;

/** The records of a fleet. Rollouts are among the kinds that are shown only if they are looked at. */
export function fleetRecords(
  { touch, clock, flag }: Pick<RecordScope, "touch" | "clock" | "flag">,
  { fleet, limits }: { readonly fleet: ShownFleet; readonly limits: Limits },
): RecordSource {
  const shown = kinds.filter((kind) => flag(sidecarsFlags.argoRollouts) || kind !== Rollout);
  return new FleetRecords({ touch, clock }, { fleet, limits, resources: shown.map(resourceOf) });
}

/** As much of a fleet as is shown. */
type ShownFleet = Pick<Fleet, "caches" | "due" | "ids" | "observed" | "onChange" | "onDue" | "recall" | "refresh" | "workload">;

class FleetRecords implements RecordSource {
  readonly step = "sidecars";
  readonly resources: readonly string[];
  readonly #scope: Pick<RecordScope, "touch" | "clock">;
  readonly #fleet: ShownFleet;
  readonly #limits: Limits;
  #rows: ReadonlyMap<WorkloadId, Row> = new Map();
  #planned = true;
  /** What the operator remembers is being read; and is to be read again, because something has changed since. */
  #recalling = false;
  #forgotten = true;
  #timer: Timer | undefined;

  constructor(
    scope: Pick<RecordScope, "touch" | "clock">,
    { fleet, limits, resources }: { readonly fleet: ShownFleet; readonly limits: Limits; readonly resources: readonly string[] },
  ) {
    this.resources = resources;
    this.#scope = scope;
    this.#fleet = fleet;
    this.#limits = limits;
    const touch = (id: WorkloadId): void => scope.touch(workloadRecordId(workloadRef(id)));
    // What is due is inspected with the next `prepare`, unless the controller was quicker.
    fleet.onDue(touch);
    fleet.onChange((id) => {
      this.#planned = false;
      this.#forgotten = true;
      touch(id);
    });
  }

  readonly caches: RecordSource["caches"] = () => this.#fleet.caches;

  /** Inspects what is due, and plans anew if that has changed anything. */
  readonly prepare = (nowMs: number): void => {
    const { clock, touch } = this.#scope;
    const untilMs = clock.monotonic() + turnMs;
    for (const id of this.#fleet.due) {
      if (clock.monotonic() > untilMs) return touch(planKey);
      this.#inspect(id);
    }
    if (this.#forgotten && !this.#recalling) void this.#recall();
    if (this.#planned) return;
    this.#planned = true;
    const { rows, nextAtMs } = planRollouts(this.#fleet.observed(this.#limits, nowMs), this.#limits, nowMs);
    const before = this.#rows;
    this.#rows = new Map(rows.map((row) => [row.id, row]));
    for (const id of new Set([...before.keys(), ...this.#rows.keys()])) {
      if (JSON.stringify(before.get(id)) !== JSON.stringify(this.#rows.get(id))) touch(workloadRecordId(workloadRef(id)));
    }
    this.#timer?.cancel();
    this.#timer = nextAtMs === undefined ? undefined : clock.setTimer(nextAtMs - nowMs, () => this.#planSoon());
  };

  readonly make: RecordSource["make"] = (key, nowMs) => {
    const id = key.slice("workload/".length);
    const ref = workloadRef(id);
    const kind = kinds.find((candidate) => candidate.kind === ref.kind);
    const record =
      kind && ref.name !== ""
        ? workloadRecord(
            { ref, kind, row: this.#rows.get(id), workload: this.#fleet.workload(id) },
            { rolloutTimeoutMs: this.#limits.rolloutTimeoutMs, nowMs },
          )
        : undefined;
    return record && made(record, undefined);
  };

  readonly ids: RecordSource["ids"] = () => this.#fleet.ids().map((id) => workloadRecordId(workloadRef(id)));

  readonly find: NonNullable<RecordSource["find"]> = (resource, name) => {
    const kind = kinds.find((candidate) => resourceOf(candidate) === resource);
    return kind && { kind, id: workloadRecordId({ kind: kind.kind, ...name }) };
  };

  #inspect(id: WorkloadId): void {
    const againInMs = this.#fleet.refresh(id);
    if (againInMs !== undefined) this.#scope.clock.setTimer(againInMs, () => this.#inspect(id));
  }

  /** A restart is remembered before it shows on a workload. Never rejects: until it is read, the plan is made as before. */
  async #recall(): Promise<void> {
    this.#recalling = true;
    this.#forgotten = false;
    await this.#fleet.recall().catch(() => {});
    this.#recalling = false;
    this.#planSoon();
  }

  #planSoon(): void {
    this.#planned = false;
    this.#scope.touch(planKey);
  }
}
