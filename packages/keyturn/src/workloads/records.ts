// Where records of workloads come from: the fleet and the plan of this moment, or what was left on those that were restarted.
import { type Cache, Job, keyOf, type Kind, type KubeObject, nameOf, Pod, ReplicaSet, resourceOf, type Stored, type Timer } from "@keyturn/runtime";
import type { Made, Records, RecordScope, RecordSource } from "../feature/record.ts";
import { rolloutLabel } from "./annotations.ts";
import { operatorNamespaceFlag } from "../feature/flag.ts";
import { Fleet, idOfWorkload } from "./fleet.ts";
import { recallRestarts } from "./restart-memory.ts";
import { type Limits, planRollouts, type Row, type WorkloadId, type WorkloadRef, workloadRef } from "./rollout-plan.ts";
import { isRollouts } from "./rollouts.ts";
import { restartableKinds, Rollout } from "./workload.ts";
import {
  markedWorkload,
  phases,
  type RestartedWorkload,
  restartedRecord,
  type RolloutView,
  workloadRecord,
  type WorkloadRecord,
  workloadRecordId,
  workloadRow,
  workloadStory,
} from "./workload-record.ts";

/** What the plan of this moment says about them, for a page that may look at the fleet; what anybody may see of those that were restarted, for `keyturn status`. */
export function rolloutRecords(view: RolloutView): Records {
  return {
    layout: layoutOf(view),
    flags: [view.flags.rolloutTimeout],
    watch(scope) {
      if (scope.viewer === "status") return restartedRecords(view, scope);
      const shown = shownFleet(view, scope);
      return shown && fleetRecords(view, scope, shown);
    },
  };
}

function layoutOf({ step, layout: { title, about, empty } }: RolloutView): Records["layout"] {
  return {
    title,
    about,
    tables: [
      {
        id: "workloads",
        title: "Workloads",
        empty: { title: "No workload is behind", text: empty, command: `keyturn plan ${step}` },
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
}

/** The record on the page, and its story. */
function made(view: RolloutView, record: WorkloadRecord, againAtMs: number | undefined): Made {
  return { record: workloadRow(record), againAtMs, story: (ref) => workloadStory(view, ref, record) };
}

function restartedRecords(view: RolloutView, { watch, touch, flag, unserved }: RecordScope): RecordSource {
  const { step, prefix } = view;
  const rolloutTimeoutMs = flag(view.flags.rolloutTimeout);
  const restartable = Array.from(restartableKinds.values()).filter(({ kind }) => !unserved.includes(kind));
  const caches = restartable.map(({ kind, keep }) => {
    const keepRolling = (object: Stored<KubeObject>): RestartedWorkload =>
      keep(object, { records: view.markAnnotation === undefined ? [] : [view.markAnnotation] });
    // What is rolling is known better from the whole object.
    const rolling: Cache<RestartedWorkload | undefined> = watch(kind, { labels: rolloutLabel, keep: keepRolling });
    const marked = watch(kind, { only: "metadata", keep: (object: Stored<KubeObject>) => markedWorkload(view, kind, object) });
    for (const cache of [rolling, marked]) cache.subscribe(({ key }) => touch(`${prefix}/${idOfWorkload(kind, key)}`));
    return { kind, rolling, marked };
  });
  return {
    step,
    resources: restartable.map(({ kind }) => resourceOf(kind)),
    caches: () => caches.flatMap(({ rolling, marked }) => [rolling, marked]),
    ids: () =>
      new Set(
        caches.flatMap(({ kind, rolling, marked }) =>
          [...rolling.entries(), ...marked.entries()].map(([key]) => workloadRecordId(view, { kind: kind.kind, namespace: "", ...nameOf(key) })),
        ),
      ),
    make(id, nowMs) {
      const ref = workloadRef(id.slice(prefix.length + 1));
      const found = caches.find(({ kind }) => kind.kind === ref.kind);
      const key = keyOf(ref);
      const marked = found?.marked.get(key);
      const workload = found?.rolling.get(key) ?? (marked?.restarting ? undefined : marked);
      const record = found && workload && restartedRecord(view, found.kind, workload, { rolloutTimeoutMs, nowMs });
      return record && made(view, record, record.next?.atMs);
    },
  };
}

/** The fleet of this process's controller, or one of the viewer's own, if it may ask what new pods would get. */
function shownFleet(
  view: RolloutView,
  { running = [], ask, watch, clock, log, flag }: RecordScope,
): { readonly fleet: Fleet; readonly limits: Limits } | undefined {
  const rollouts = running.find(isRollouts);
  const led = rollouts?.fleet();
  if (rollouts && led) return { fleet: led, limits: rollouts.options.limits };
  if (!ask) return undefined;
  const { options, limits } = view.fleet(flag);
  const recall = (signal: AbortSignal) => recallRestarts(ask.client, { operatorNamespace: flag(operatorNamespaceFlag), nowMs: clock.now(), signal });
  const fleet = new Fleet({ ...ask, watch, clock, recall, asker: "viewer" }, options);
  void fleet.followRollouts(log);
  return { fleet, limits };
}

// Looks at the workloads through the controller's own eyes, and plans with its own plan; restarts nothing.

const kinds: readonly Kind[] = [...Array.from(restartableKinds.values(), ({ kind }) => kind), ReplicaSet, Job, Pod];

/** How long workloads are inspected in one go. */
const turnMs = 8;

/** The records of a fleet. Rollouts are among the kinds that are shown only if they are looked at. */
export function fleetRecords(
  view: RolloutView,
  { touch, clock, flag }: Pick<RecordScope, "touch" | "clock" | "flag">,
  { fleet, limits }: { readonly fleet: ShownFleet; readonly limits: Limits },
): RecordSource {
  const shown = kinds.filter((kind) => flag(view.flags.argoRollouts) || kind !== Rollout);
  return new FleetRecords(view, { touch, clock }, { fleet, limits, resources: shown.map(resourceOf) });
}

/** As much of a fleet as is shown. */
type ShownFleet = Pick<Fleet, "caches" | "due" | "ids" | "observed" | "onChange" | "onDue" | "recall" | "refresh" | "workload">;

class FleetRecords implements RecordSource {
  readonly step: string;
  readonly resources: readonly string[];
  readonly #view: RolloutView;
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
    view: RolloutView,
    scope: Pick<RecordScope, "touch" | "clock">,
    { fleet, limits, resources }: { readonly fleet: ShownFleet; readonly limits: Limits; readonly resources: readonly string[] },
  ) {
    this.step = view.step;
    this.resources = resources;
    this.#view = view;
    this.#scope = scope;
    this.#fleet = fleet;
    this.#limits = limits;
    const touch = (id: WorkloadId): void => scope.touch(this.#idOf(workloadRef(id)));
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
      if (clock.monotonic() > untilMs) return this.#planSoon();
      this.#inspect(id);
    }
    if (this.#forgotten && !this.#recalling) void this.#recall();
    if (this.#planned) return;
    this.#planned = true;
    const { rows, nextAtMs } = planRollouts(this.#fleet.observed(this.#limits, nowMs), this.#limits, nowMs);
    const before = this.#rows;
    this.#rows = new Map(rows.flatMap((row) => (isAbout(row, this.step) ? [[row.id, row]] : [])));
    for (const id of new Set([...before.keys(), ...this.#rows.keys()])) {
      if (JSON.stringify(before.get(id)) !== JSON.stringify(this.#rows.get(id))) touch(this.#idOf(workloadRef(id)));
    }
    this.#timer?.cancel();
    this.#timer = nextAtMs === undefined ? undefined : clock.setTimer(nextAtMs - nowMs, () => this.#planSoon());
  };

  readonly make: RecordSource["make"] = (key, nowMs) => {
    const id = key.slice(this.#view.prefix.length + 1);
    const ref = workloadRef(id);
    const kind = kinds.find((candidate) => candidate.kind === ref.kind);
    const record =
      kind && ref.name !== ""
        ? workloadRecord(
            this.#view,
            { ref, kind, row: this.#rows.get(id), workload: this.#fleet.workload(id) },
            { rolloutTimeoutMs: this.#limits.rolloutTimeoutMs, nowMs },
          )
        : undefined;
    return record && made(this.#view, record, undefined);
  };

  readonly ids: RecordSource["ids"] = () => this.#fleet.ids().map((id) => this.#idOf(workloadRef(id)));

  readonly find: NonNullable<RecordSource["find"]> = (resource, name) => {
    const kind = kinds.find((candidate) => resourceOf(candidate) === resource);
    return kind && { kind, id: this.#idOf({ kind: kind.kind, ...name }) };
  };

  #idOf(ref: WorkloadRef): string {
    return workloadRecordId(this.#view, ref);
  }

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
    // Stands for no record.
    this.#scope.touch(`${this.#view.prefix}/plan`);
  }
}

/** The inspector has a part in it, or nobody knows who has. */
function isAbout({ by }: Row, step: string): boolean {
  return step in by || Object.keys(by).length === 0;
}
