// The one controller that restarts workloads, for all inspectors. A key per workload keeps its inspection up to date; one key for all of them plans and restarts,
// because what may happen at a time is counted over all.
import {
  type Blocker,
  type ControllerDefinition,
  type ControllerScope,
  conflictReason,
  earliest,
  type HeldBack,
  isApiError,
  isConflict,
  type Plan,
  type PlannedEvent,
  type Planner,
  type Reconcile,
  reconcileWith,
  type Run,
  type StatusObject,
  type Step,
  TerminalError,
  TransientError,
} from "@keyturn/runtime";
import type { ReasonTable } from "../feature/feature.ts";
import { rolloutLabel } from "./annotations.ts";
import { Fleet, type FleetOptions, restartInput } from "./fleet.ts";
import { type InspectorDefinition, type RolloutMetrics, rolloutsAccess } from "./inspector.ts";
import { controllerName, finishRollout, restartWorkload, type RestartTarget } from "./restart.ts";
import { doneEvent, eventAbout, kindOf, type Said, saying, standingEvent } from "./rollout-events.ts";
import { type Candidate, type Limits, type ObservedFleet, planRollouts, type Row, type WorkloadId, workloadId } from "./rollout-plan.ts";
import { DryRunMemory, recallRestarts, type RestartMemory, RestartRecord } from "./restart-memory.ts";
import { restartableKinds, type Workload } from "./workload.ts";

/** How the controller works. */
interface RolloutsOptions extends FleetOptions {
  readonly limits: Limits;
  /** Restarts nothing and records nothing, whatever the rest of the operator does. */
  readonly dryRun: boolean;
  /** Of all inspectors. */
  readonly reasons: ReasonTable;
}

/** The controller, with the fleet that others of this process may look through too, whether or not it leads. */
export interface RolloutsDefinition extends ControllerDefinition {
  readonly limits: Limits;
  /** Undefined until the controller is set up. */
  readonly fleet: () => Fleet | undefined;
}

/** Stands for the whole fleet; keys of workloads have slashes. */
const fleetKey = "fleet";
/** Many workloads change at a time, and one plan serves them all. */
const planAfterMs = 20;
/** So many workloads are looked at once more, and restarted, in one run; the next run goes on. Each takes two requests, and a run has a minute. */
const restartsPerRun = 16;
/** The next run, if there is more to restart; and if nothing of what was looked at could be restarted after all. */
const goOnMs = 20;
const lookAgainMs = 1000;
/** Older answers are not acted upon: whoever gave them may be gone by now. One restart follows each look in any case. */
const maxLookAgeMs = 5000;
/** As many workloads are told of it in Events when no plan can be carried out. */
const maxTold = 10;

/** The controller. */
export function rolloutsController(options: RolloutsOptions): RolloutsDefinition {
  let fleet: Fleet | undefined;
  return {
    name: controllerName,
    access: rolloutsAccess(options.inspectors, options),
    // Most runs only compare strings; nobody who is asked is waited for.
    concurrency: 16,
    backoff: { firstMs: 1000, maxMs: 300_000, spread: 0.2 },
    limits: options.limits,
    fleet: () => fleet,
    setup(scope) {
      const { watch, client, clock, log, metrics, closed: signal, enqueue, trigger, serverAheadMs } = scope;
      const now = (): number => clock.now() + (serverAheadMs() ?? 0);
      const { operatorNamespace } = scope;
      const recall = (until: AbortSignal) => recallRestarts(client, { operatorNamespace, nowMs: now(), signal: until });
      fleet = new Fleet({ watch, client, clock, metrics, signal, now, recall, asker: "operator" }, options);
      void fleet.followRollouts(log);
      fleet.onDue((id) => enqueue(id));
      fleet.onChange(() => enqueue(fleetKey, { afterMs: planAfterMs }));
      // Each term of leadership begins with a plan, which may find what the term before has left waiting.
      trigger(fleet.namespaces, (change) => (change.type === "added" && change.initial ? [fleetKey] : []));
      return new Rollouts(scope, fleet, options).reconcile;
    },
  };
}

/** True for the controller that restarts workloads. */
export function isRollouts(definition: ControllerDefinition): definition is RolloutsDefinition {
  return "fleet" in definition;
}

/** A workload that was looked at in this run: what was read and asked anew, and on which version a restart is written. Undefined if it is gone. */
interface Fresh {
  readonly candidate: Candidate | undefined;
  readonly target: RestartTarget | undefined;
}

type Observed =
  | { readonly type: "workload"; readonly againAtMs: number | undefined }
  | {
      readonly type: "fleet";
      readonly fleet: ObservedFleet;
      /** What the API server says is rolling, once it was asked. */
      readonly rolling: ObservedFleet["rolling"] | undefined;
      readonly fresh: ReadonlyMap<WorkloadId, Fresh>;
      /** When that was looked at. */
      readonly lookedMs: number;
      /** Whether new pods would be admitted could not be asked the last time. */
      readonly isUnchecked: boolean;
      readonly said: Said;
    };
type ObservedAll = Extract<Observed, { readonly type: "fleet" }>;

/** What caches cannot say: who is rolling, and how these fare right now. */
type Look = { readonly type: "rolling" } | { readonly type: "workloads"; readonly ids: readonly WorkloadId[] };

/** A restart, or the end of one; and before it, what is remembered of it. */
type Action =
  | { readonly type: "restart" | "finish"; readonly row: Row }
  | { readonly type: "remember"; readonly rows: readonly Row[]; readonly nowMs: number };

interface RolloutsPlan extends Plan<Look, Action> {
  /** Undefined for the key of one workload. */
  readonly rows: readonly Row[] | undefined;
}

/** Plans over the fleet, and carries out. */
class Rollouts implements Planner<Observed, Look, Action, RolloutsPlan> {
  readonly reconcile: Reconcile;
  readonly #scope: ControllerScope;
  readonly #fleet: Fleet;
  readonly #options: RolloutsOptions;
  /** Undefined unless this is one. */
  readonly #dryRun: DryRunMemory | undefined;
  readonly #inspectors: ReadonlyMap<string, { readonly definition: InspectorDefinition; readonly metrics: RolloutMetrics }>;
  /** The last plan over all, and what has been said of it. */
  #rows: readonly Row[] = [];
  #said: Said = new Map();
  readonly #record: RestartRecord;
  #isUnchecked = false;
  #isForgetful = false;
  /** When the last restart was sent, or answered. */
  #sentMs: number | undefined;

  constructor(scope: ControllerScope, fleet: Fleet, options: RolloutsOptions) {
    this.#scope = scope;
    this.#fleet = fleet;
    this.#record = new RestartRecord(scope.operatorNamespace);
    this.#options = options;
    this.#dryRun = scope.dryRun || options.dryRun ? new DryRunMemory(scope.log) : undefined;
    this.#inspectors = new Map(options.inspectors.map((definition) => [definition.name, { definition, metrics: definition.metrics(scope.metrics) }]));
    const reconcile = reconcileWith({ ...scope, dryRun: this.#dryRun !== undefined }, this, {
      reasons: options.reasons,
      refusedPartBackoff: { firstMs: 5000, maxMs: 300_000 },
    });
    const { failed = async () => {} } = reconcile;
    const dryRun = this.#dryRun;
    this.reconcile = dryRun
      ? Object.assign((run: Run) => reconcile({ ...run, done: (message, fields) => dryRun.tell(message, fields) }), { failed })
      : reconcile;
  }

  observe({ key }: Run, nowMs: number): Observed | undefined {
    if (key === fleetKey) {
      const fleet = { ...this.#fleet.observed(this.#options.limits, nowMs), sentMs: this.#sentMs };
      return { type: "fleet", fleet, rolling: undefined, fresh: new Map(), lookedMs: 0, isUnchecked: this.#isUnchecked, said: this.#said };
    }
    const againInMs = this.#fleet.refresh(key);
    return againInMs === undefined ? undefined : { type: "workload", againAtMs: nowMs + againInMs };
  }

  plan(observed: Observed, { nowMs, refused, clockSkew }: Parameters<Planner<Observed>["plan"]>[1]): RolloutsPlan {
    if (observed.type === "workload") return { rows: undefined, steps: [], status: [], nextAtMs: observed.againAtMs };
    const fleet = { ...withFresh(observed, refused), blocker: clockSkew };
    const { rows, nextAtMs } = planRollouts(fleet, this.#options.limits, nowMs);
    const due = rows.filter(({ decision }) => decision.type === "restart");
    // Nothing is written in a dry run, so that the same is planned again and again, and is looked at once in a while.
    const unseen = due.filter((row) => !this.#isSure(row, nowMs));
    const plan = { rows, status: [], heldBack: fleet.candidates.flatMap(wantedRestart) };
    // Caches may not show yet what the leader before us has started, and whose labels and times on workloads are only memory tells.
    const isUnknown = !fleet.memory && !this.#isForgetful && fleet.candidates.some(({ inspection }) => inspection.type !== "unknown");
    if ((due.length > 0 || isUnknown) && !observed.rolling) return { ...plan, steps: [{ verb: "look", at: { type: "rolling" } }], more: true };
    if (unseen.length > 0 && observed.fresh.size === 0) {
      const ids = unseen.slice(0, restartsPerRun).map(({ id }) => id);
      return { ...plan, steps: [{ verb: "look", at: { type: "workloads", ids } }], more: true };
    }
    const confirmed = due.filter((row) => observed.fresh.has(row.id) || !unseen.includes(row));
    const finished = rows.filter(({ decision }) => decision.type === "finish");
    const remembered = [...finished.filter(({ id }) => fleet.memory?.get(id)?.isOver === false), ...confirmed];
    const goOnAtMs = confirmed.length < due.length ? nowMs + (confirmed.length > 0 ? goOnMs : lookAgainMs) : undefined;
    return {
      ...plan,
      steps: [
        ...(remembered.length > 0 && !this.#dryRun ? [{ verb: "do", action: { type: "remember", rows: remembered, nowMs } } as const] : []),
        // Ends first: the plan counts on the room that they make.
        ...[...finished, ...confirmed].map((row) => this.#step(row)),
      ],
      events: this.#news(rows, observed.said),
      nextAtMs: earliest([nextAtMs, goOnAtMs]),
    };
  }

  async look(at: Look, observed: Observed, run: Run): Promise<Observed> {
    if (observed.type !== "fleet") return observed;
    if (at.type === "rolling") {
      const labelled = await this.#labelled(run);
      this.#fleet.memory = await this.#memory(run);
      const rolling = new Map(labelled.map((workload) => [workloadId(workload.ref), this.#fleet.restartedAtMs(workload)]));
      return { ...observed, rolling, fleet: { ...observed.fleet, memory: this.#fleet.memory } };
    }
    const looked = await Promise.all(at.ids.map(async (id) => [id, await this.#lookAgain(id, run)] as const));
    for (const [id, { candidate, target }] of looked) {
      if (candidate?.inspection.type === "outdated" && target)
        this.#dryRun?.looked(id, restartInput(candidate.inspection, target.workload), this.#now());
    }
    this.#isUnchecked = looked.some(([, { candidate }]) => candidate?.isUnchecked);
    return { ...observed, fresh: new Map(looked), lookedMs: this.#now(), isUnchecked: this.#isUnchecked };
  }

  async act(action: Action, observed: Observed, run: Run): Promise<Observed> {
    if (observed.type !== "fleet") return observed;
    if (action.type === "remember") return this.#keep(action, observed, run);
    const { row } = action;
    const { client } = run;
    const { id, decision } = row;
    try {
      await this.#record.sent(client, id, () => {
        const target = observed.fresh.get(id)?.target;
        if (decision.type === "finish") return finishRollout(client, this.#finished(row), decision);
        if (decision.type !== "restart" || !target) return Promise.resolve();
        const isOld = this.#now() - observed.lookedMs > maxLookAgeMs && (this.#sentMs ?? 0) >= observed.lookedMs;
        if (isOld) throw new TransientError("the last look before it took place too long ago", { reason: conflictReason });
        const nowMs = this.#now();
        const restarted = restartWorkload(client, target, { nowMs, digest: decision.digest });
        // What follows is delayed from when it has certainly arrived.
        this.#sentMs = nowMs;
        return restarted.finally(() => (this.#sentMs = this.#now()));
      });
    } catch (error) {
      this.#fleet.memory = this.#record.memory;
      if (!isApiError(error) || isConflict(error)) throw error;
      for (const { metrics } of this.#of(row)) metrics.restartFailed();
      // One workload's trouble is not another's, whatever status it has.
      throw error.code === "Forbidden" || error.code === "Invalid"
        ? error
        : new TerminalError(error.message, { reason: "RestartFailed", cause: error });
    }
    return observed;
  }

  done(step: Exclude<Step<Look, Action>, { readonly verb: "look" }>): void {
    if (step.verb !== "do" || step.action.type !== "restart") return;
    for (const { metrics, outdated } of this.#of(step.action.row)) metrics.restarted(outdated);
  }

  completed(observed: Observed): void {
    if (observed.type === "fleet") this.#remember();
  }

  /** A fleet has no object that could tell of it; those that wait for a restart can. */
  regarding(key: string): readonly StatusObject[] {
    if (key !== fleetKey) return [];
    const due = this.#rows.filter(({ decision }) => decision.type === "restart" || decision.type === "finish");
    return due.slice(0, maxTold).flatMap(({ id, ref }) => {
      const kind = kindOf(ref.kind);
      return kind ? [{ kind, object: { metadata: { ...ref, uid: this.#fleet.uid(id) ?? "", resourceVersion: "" } }, eventsOnly: true }] : [];
    });
  }

  show(key: string, shown: { readonly plan: RolloutsPlan } | undefined): void {
    if (key !== fleetKey) return;
    this.#rows = shown?.plan.rows ?? [];
    this.#fleet.isLed = shown !== undefined;
    if (!shown) {
      this.#record.forget();
      this.#fleet.memory = undefined;
    }
    for (const [name, { metrics }] of this.#inspectors) {
      if (shown) metrics.show(this.#rows.flatMap((row) => rowOf(row, name)));
      else metrics.hide();
    }
    if (!shown?.plan.events || !this.#dryRun) return;
    for (const { id, decision, why } of this.#rows) {
      if (decision.type === "wait") this.#dryRun.tell("restarted a workload later", { workload: id, reason: decision.reason, why });
    }
    for (const { regarding, reason, message } of shown.plan.events) {
      const { namespace, name } = regarding?.object.metadata ?? {};
      this.#dryRun.tell("recorded an Event", { workload: `${regarding?.kind.kind}/${namespace}/${name}`, reason, message });
    }
    this.#remember();
  }

  #isSure({ id, decision }: Row, nowMs: number): boolean {
    const workload = this.#fleet.workload(id);
    return decision.type === "restart" && workload !== undefined && this.#dryRun?.isSure(id, restartInput(decision, workload), nowMs) === true;
  }

  #remember(): void {
    this.#said = new Map(this.#rows.map((row) => [row.id, saying(standingEvent(row, this.#eventsOf(row)))]));
  }

  #news(rows: readonly Row[], said: Said): readonly PlannedEvent[] {
    return rows.flatMap((row) => {
      const event = standingEvent(row, this.#eventsOf(row));
      return event && saying(event) !== (said.get(row.id) ?? "") ? (eventAbout(row, this.#fleet.uid(row.id), event) ?? []) : [];
    });
  }

  #step(row: Row): Step<Look, Action> {
    const { id, why, decision } = row;
    const event = doneEvent(row, this.#eventsOf(row));
    const planned = event && eventAbout(row, this.#fleet.uid(id), event);
    const isRestart = decision.type === "restart";
    return {
      verb: "do",
      action: { type: isRestart ? "restart" : "finish", row },
      ...partOf(row),
      log: isRestart
        ? { message: "restarted a workload", fields: { workload: id, why } }
        : { message: "finished a rollout", fields: { workload: id, helped: decision.type === "finish" && decision.helped } },
      ...(planned && { events: [planned] }),
    };
  }

  /** The API server's time, as far as it is known. */
  #now(): number {
    return this.#scope.clock.now() + (this.#scope.serverAheadMs() ?? 0);
  }

  /** What is remembered of restarts. Before the first one that is nothing: labels on workloads are whoever's who wrote them. */
  async #memory({ client, signal, log }: Run): Promise<RestartMemory | undefined> {
    const memory = await this.#record.read(client, { nowMs: this.#now(), signal });
    if (memory || this.#isForgetful) return memory;
    this.#isForgetful = true;
    log.warn({ namespace: this.#scope.operatorNamespace }, "restarts cannot be remembered: grant get, create and update of leases");
    return undefined;
  }

  /** Writes down what is about to be done. If that is not possible, nothing is done; unless we may not write it at all. */
  async #keep({ rows, nowMs }: Extract<Action, { readonly type: "remember" }>, observed: ObservedAll, { client }: Run): Promise<Observed> {
    if (!observed.fleet.memory) return observed;
    const workloadOf = (id: WorkloadId) => observed.fresh.get(id)?.target?.workload ?? this.#fleet.workload(id);
    this.#fleet.memory = await this.#record.keep(client, rows, { workloadOf, nowMs });
    return { ...observed, fleet: { ...observed.fleet, memory: this.#fleet.memory } };
  }

  /** Every workload that is labelled as rolling, as the API server knows it. */
  async #labelled({ client, signal }: Run): Promise<readonly Workload[]> {
    const { namespaces } = this.#scope;
    const places = namespaces.length > 0 ? namespaces.map((namespace) => ({ namespace })) : [{}];
    const kinds = Array.from(this.#fleet.workloads.keys()).flatMap((name) => restartableKinds.get(name) ?? []);
    const lists = kinds.flatMap(({ kind, keep }) =>
      places.map(async (place) => (await client.list(kind, { labels: rolloutLabel, ...place }, signal)).items.map((item) => keep(item))),
    );
    return (await Promise.all(lists)).flat();
  }

  /**
   * Read and asked anew: the cache of pods may be behind that of workloads, and nothing that is current, that somebody has begun to roll out meanwhile, or whose
   * new pods nobody could inject is to be restarted.
   */
  async #lookAgain(id: WorkloadId, { client, signal, log }: Run): Promise<Fresh> {
    const workload = this.#fleet.workload(id);
    const resourceVersion = this.#fleet.resourceVersion(id);
    if (!workload || resourceVersion === undefined) return { candidate: undefined, target: undefined };
    const candidate = await this.#fleet.lookAgain(id, { client, signal });
    if (candidate?.inspection.type === "unknown" && candidate.inspection.reason !== "Pending") {
      const { reason, message } = candidate.inspection;
      log.warn({ workload: id, reason, why: message }, "not restarted: it is no longer known what new pods would get");
    } else if (candidate?.inspection.type !== "outdated")
      log.info({ workload: id }, "not restarted: on a last look there is no reason for it any more");
    return { candidate, target: { workload, resourceVersion } };
  }

  /** It was planned from what was known a moment ago; what is written goes by what the cache shows now. */
  #finished({ id }: Row): RestartTarget {
    this.#fleet.refresh(id);
    const candidate = this.#fleet.candidate(id);
    const [row] = planRollouts(
      { candidates: candidate ? [candidate] : [], memory: this.#fleet.memory, rolling: new Map(), lastRestartMs: undefined },
      this.#options.limits,
      this.#scope.clock.now(),
    ).rows;
    const workload = this.#fleet.workload(id);
    const resourceVersion = this.#fleet.resourceVersion(id);
    if (row?.decision.type !== "finish" || !workload || resourceVersion === undefined) {
      throw new TransientError("the workload has changed since its rollout was found finished", { reason: conflictReason });
    }
    return { workload, resourceVersion };
  }

  #of({ by }: Row) {
    return Object.entries(by).flatMap(([name, outdated]) => {
      const inspector = this.#inspectors.get(name);
      return inspector ? [{ ...inspector, outdated }] : [];
    });
  }

  #eventsOf(row: Row) {
    return this.#of(row)[0]?.definition.events ?? this.#options.inspectors[0]?.events;
  }
}

/** What was observed, with what was looked at since in place of what caches said, and with what was refused. */
function withFresh({ fleet, rolling, fresh, isUnchecked }: ObservedAll, refused: ReadonlyMap<string, Blocker>): ObservedFleet {
  const candidates = fleet.candidates.flatMap((cached) => {
    const id = workloadId(cached.ref);
    const looked = fresh.get(id);
    const candidate = looked ? looked.candidate : cached;
    return candidate ? [{ ...candidate, isUnchecked: candidate.isUnchecked || isUnchecked, refused: refused.get(id) }] : [];
  });
  const { memory, unlabelled, sentMs } = fleet;
  const lastMs = Array.from(rolling?.values() ?? []).reduce<number>((last, time) => Math.max(last, time ?? 0), fleet.lastRestartMs ?? 0);
  const lastRestartMs = lastMs > 0 ? lastMs : undefined;
  return { candidates, memory, unlabelled, rolling: rolling ?? fleet.rolling, lastRestartMs, sentMs };
}

/** The row as an inspector with a part in it has asked for it. */
function rowOf(row: Row, name: string): readonly Row[] {
  const outdated = row.by[name];
  return outdated === undefined ? [] : [{ ...row, outdated: row.outdated && outdated }];
}

/** The workload of a step, and what the step is made from: a refusal counts for as long as the same would be tried. */
function partOf({ id, decision }: Row): HeldBack {
  return { part: id, input: decision.type === "restart" ? decision.digest : decision.type };
}

/** The step that a candidate waits for, whatever holds it back. */
function wantedRestart({ ref, inspection }: Candidate): readonly HeldBack[] {
  return inspection.type === "outdated" ? [{ part: workloadId(ref), input: inspection.digest }] : [];
}
