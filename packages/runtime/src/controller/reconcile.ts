// One way from plan to cluster, for every controller: observe, plan, carry out, report. What must hold for all of them is built here, once.
import { keyOf, keyOfObject, type ObjectKey, resourceOf } from "../client/kind.ts";
import { earliest } from "../clock.ts";
import { isRecord } from "../json.ts";
import { backoffDelayMs } from "../queue/backoff.ts";
import { nextWriteAt, rememberWrite } from "../rate-limit.ts";
import type { ControllerScope, Outcome, Reconcile, Run } from "./controller.ts";
import { type FailedRun, type Failure, failureOf, isConflict, isRefusal, isTolerated, refusedPartBackoff, TransientError } from "./failure.ts";
import { addFinalizer, dropFinalizer, isBeingDeleted } from "./finalizer.ts";
import { canonicalJson, fieldManagerOf, isUpToDate, ownedWriter } from "./owned-objects.ts";
import type { Blocker, Moment, Plan, PlannedEvent, StatusObject, StatusReport, Step } from "./plan.ts";
import type { Planner, ReconcileOptions } from "./planner.ts";
import { findCondition, StatusReporter } from "./status.ts";

/** A plan that still wants more after so many rounds is a mistake. */
const maxRounds = 32;
/** By so much the API server's clock and ours may differ; by more, and no time can be believed: plans hear of it as `Moment.clockSkew`. */
export const maxSkewMs = 30_000;
/** When clocks that differ are compared again. */
const skewRetryMs = 30_000;
/** Conflicts in a row that are only a cache that is behind; 20, 40 … 320 ms apart. After that something else is wrong. */
const maxConflicts = 5;
const firstConflictMs = 20;
/** The run after a refusal follows at once: it waits for its caches by itself. */
const nextRunMs = 10;
const nothingRefused: Moment["refused"] = new Map();

/**
 * The reconcile function of a controller.
 *
 * Guarantees: steps are carried out in order, each at most once a run, and status and Events follow what was done. A failure of any kind is shown in a
 * condition and an Event and is tried again with a backoff: at once if somebody has to act, after `toleratedMs` if it may pass. A refused part keeps
 * nothing else up, and is tried again when its time has come or its input has changed. A conflict is no failure: it is planned again at once. A dry run
 * changes nothing and logs what it withholds. What a limit holds back keeps its backoff. Two processes that see something else, and replace each other's
 * statuses, do so ever more seldom.
 *
 * Assumes that the objects which the plan is made from are in caches of the scope: a run starts only when those show the last run's writes.
 */
export function reconcileWith<O, L = never, A = never, P extends Plan<L, A> = Plan<L, A>>(
  scope: ControllerScope,
  planner: Planner<O, L, A, P>,
  options: ReconcileOptions,
): Reconcile {
  const engine = new Engine(scope, planner, options);
  return Object.assign((run: Run) => engine.reconcile(run), { failed: (failure: FailedRun, run: Run) => engine.failed(failure, run) });
}

/** What the engine remembers of a key while this process works on it; nothing of one that is as it should be. Losing it costs requests, and nothing else. */
interface KeyMemory {
  /** In a row. */
  conflicts: number;
  /** Since when every run has failed, on the monotonic scale. */
  failingSinceMs: number | undefined;
  /** The failure that was told, and of which state of its objects and after how many others. */
  told: (Pick<Failure, "reason" | "message"> & { readonly failures: number; readonly generations: string }) | undefined;
  /** Whose statuses the last run could not write: nobody else fares badly by that. */
  unreported: readonly StatusObject[] | undefined;
  /** When earlier runs wrote, on the monotonic scale. */
  writes: readonly number[];
  /** Until when nothing is changed after a failure, on the monotonic scale. */
  heldUntilMs: number | undefined;
  /** A run that was cut short by a conflict or a refusal goes on in its turn. */
  hasTurn: boolean;
  readonly refusals: Map<string, Refusal>;
}

interface Refusal extends Blocker {
  readonly untilMs: number;
  readonly input: string | undefined;
  readonly count: number;
}

type ChangeStep<L, A> = Exclude<Step<L, A>, { readonly verb: "look" }>;

class Engine<O, L, A, P extends Plan<L, A>> {
  readonly #scope: ControllerScope;
  readonly #planner: Planner<O, L, A, P>;
  readonly #options: ReconcileOptions;
  readonly #reporter: StatusReporter;
  readonly #memories = new Map<ObjectKey, KeyMemory>();
  readonly #show: (key: ObjectKey, shown: { readonly plan: P; readonly observed: O } | undefined) => void;

  constructor(scope: ControllerScope, planner: Planner<O, L, A, P>, options: ReconcileOptions) {
    this.#scope = scope;
    this.#planner = planner;
    this.#options = options;
    const { operator, controller, events, clock, random } = scope;
    this.#reporter = new StatusReporter({ fieldManager: fieldManagerOf(operator, controller), reasons: options.reasons, events, clock, random });
    scope.onSchemaChange?.(() => this.#retryRefused());
    this.#show = scope.show({
      show: (key, shown) => planner.show?.(key, shown),
      hide: (key) => {
        this.#memories.delete(key);
        planner.show?.(key, undefined);
      },
    });
  }

  async reconcile(run: Run): Promise<Outcome | void> {
    const events: PlannedEvent[] = [];
    try {
      return await this.#attempt(run, events);
    } catch (error) {
      if (!isConflict(error)) throw error;
      // What earlier writes were to leave is not there.
      if (this.#scope.dryRun) return {};
      const memory = this.#memory(run.key);
      if (memory.conflicts >= maxConflicts) throw error;
      memory.hasTurn = true;
      return { requeueAfterMs: firstConflictMs * 2 ** memory.conflicts++, unfinished: "conflict" };
    } finally {
      for (const event of events) this.#record(event, run.key);
    }
  }

  /** Tells of a failed run. */
  async failed(failure: FailedRun, run: Run): Promise<void> {
    const { code, reason, message } = failure;
    const memory = this.#memory(run.key);
    const nowMs = this.#scope.clock.monotonic();
    memory.hasTurn = false;
    memory.failingSinceMs ??= nowMs;
    const { heldBackoff } = this.#options;
    if (heldBackoff && code === "Transient") memory.heldUntilMs = nowMs + backoffDelayMs(Math.max(1, run.failures), heldBackoff, this.#scope.random);
    const regarding = memory.unreported ?? this.#planner.regarding?.(run.key) ?? [];
    const { toleratedMs = 5_000 } = this.#options;
    const untoldMs = typeof toleratedMs === "number" ? toleratedMs : toleratedMs(regarding);
    if (code === "Transient" && isTolerated(failure, nowMs - memory.failingSinceMs, untoldMs)) return;
    const reports =
      this.#planner.failed?.(failure, regarding) ??
      regarding.map((object): StatusReport => ({ regarding: object, conditions: { Ready: { status: "False", reason, message } } }));
    const { told } = memory;
    const { failures } = run;
    const generations = regarding.map(({ object }) => object.metadata.generation).join();
    // A run before its time, perhaps because of our own report. To word that otherwise would be a change again, and bring the next.
    if (code !== "Waiting" && told?.reason === reason && told.failures === failures && told.generations === generations) return;
    const isTold = told?.reason === reason && told.message === message;
    memory.told = { reason, message, failures, generations };
    await this.#report(reports, { run, nowMs: this.#serverTime(run), failure: isTold ? "told" : "untold" });
  }

  /** Adds to `events` what is to be recorded, however the run ends: nobody who waits for a status should have to wait for Events. */
  async #attempt(run: Run, events: PlannedEvent[]): Promise<Outcome | void> {
    const { key } = run;
    const { clock } = this.#scope;
    const startedMs = clock.monotonic();
    let nowMs = this.#serverTime(run);
    const known = this.#memories.get(key);
    if (known) known.unreported = undefined;
    const left = this.#options.leaves?.(key, nowMs);
    if (left?.type === "notSelected") return this.#forget(key);
    if (left) {
      const againAtMs = await this.#report(left.status, { run, nowMs });
      this.#succeeded(key);
      return dueIn(earliest([left.untilMs, againAtMs]), nowMs);
    }
    const found = await this.#planner.observe(run, nowMs);
    if (found === undefined) return this.#forget(key);
    let observed: O = found;
    const { finalizer } = this.#planner;
    const holder = finalizer?.of(observed);
    if (finalizer && holder && !isBeingDeleted(holder.object)) {
      const { metadata } = await addFinalizer(run, holder, finalizer.name);
      if (metadata !== holder.object.metadata) observed = finalizer.added?.(observed, metadata) ?? observed;
    }

    const beganMs = nowMs;
    const done = new Set<string>();
    for (let round = 0; round < maxRounds; round++) {
      // What the steps before have done must not lie in the future. The scale stays the run's own, so that time never goes back in it.
      if (round > 0) nowMs = beganMs + Math.round(clock.monotonic() - startedMs);
      const plan = this.#plan(observed, nowMs, this.#memories.get(key));
      this.#show(key, { plan, observed });
      const steps = plan.steps.filter((step) => this.#isPending(step));
      const isChange = steps.some(isChangeStep);
      if (isChange) {
        const waitMs = this.#waitMs(key, plan);
        if (waitMs > 0) return { requeueAfterMs: waitMs, unfinished: "deferred" };
      }
      for (const step of steps) {
        if (step.verb === "do" && this.#scope.dryRun) {
          this.#withhold(run, steps.slice(steps.indexOf(step)));
          return dueIn(plan.nextAtMs, nowMs);
        }
        try {
          observed = await this.#carryOut(step, observed, { run, nowMs, events, done: plan.more ? done : undefined });
        } catch (error) {
          const outcome = isChangeStep(step) ? this.#setAside(step, error, run) : undefined;
          if (!outcome) throw error;
          return outcome;
        }
      }
      if (plan.more && !(isChange && this.#scope.dryRun)) continue;
      if (plan.release) {
        if (finalizer && holder) await dropFinalizer(run.client, holder, finalizer.name);
        run.done("cleaned up after a deleted object");
        if (!this.#scope.dryRun) this.#planner.released?.(plan, run);
        events.push(...(plan.events ?? []));
        return;
      }
      if (plan.deferred) {
        // What is said of a failure stays until it is over.
        const againAtMs = this.#memories.get(key)?.failingSinceMs === undefined ? await this.#report(plan.status, { run, nowMs }) : undefined;
        return { ...dueIn(earliest([plan.nextAtMs, againAtMs]), nowMs), unfinished: "deferred" };
      }
      const againAtMs = await this.#report([...plan.status, ...this.#withdrawn(key, plan.status)], { run, nowMs });
      events.push(...(plan.events ?? []));
      this.#planner.completed?.(observed, run);
      this.#succeeded(key, nowMs, plan);
      return dueIn(earliest([plan.nextAtMs, againAtMs, this.#retryAtMs(key, nowMs), this.#skew(nowMs)?.untilMs]), nowMs);
    }
    throw new TransientError(`there was no end after planning ${maxRounds} times`, { reason: "InternalError" });
  }

  /** When what somebody else keeps replacing is reported again. Fails with what keeps a status from being written, if not all could be. */
  async #report(
    reports: readonly StatusReport[],
    context: Parameters<StatusReporter["report"]>[1] & { readonly run: Run },
  ): Promise<number | undefined> {
    const { unreported, waitMs } = await this.#reporter.report(reports, context);
    const failed = unreported.find(({ error }) => !isConflict(error)) ?? unreported[0];
    if (!failed) return Number.isFinite(waitMs) ? context.nowMs + waitMs : undefined;
    this.#memory(context.run.key).unreported = unreported.map(({ regarding }) => regarding);
    throw failed.error;
  }

  /** What `failed` wrote by itself goes with the failure, also if another process wrote it and the plan never speaks of `Ready`. */
  #withdrawn(key: ObjectKey, reports: readonly StatusReport[]): readonly StatusReport[] {
    if (this.#planner.failed) return [];
    const isSpokenOf = ({ object }: StatusObject): boolean =>
      reports.some(({ regarding, conditions }) => regarding.object.metadata.uid === object.metadata.uid && conditions["Ready"] !== undefined);
    return (this.#planner.regarding?.(key) ?? []).flatMap((regarding) => {
      const ready = findCondition(regarding.object.status?.conditions, "Ready");
      if (!ready || ready.status === "True" || Object.hasOwn(this.#options.reasons, ready.reason) || isSpokenOf(regarding)) return [];
      return [{ regarding, conditions: { Ready: null } }];
    });
  }

  /** A part stays aside until its time, and for as long as the same would be tried. What would be tried shows in the plan without refusals. */
  #plan(observed: O, nowMs: number, memory: KeyMemory | undefined): P {
    const clockSkew = this.#skew(nowMs);
    const moment: Moment = { nowMs, refused: nothingRefused, ...(clockSkew && { clockSkew }) };
    const free = this.#planner.plan(observed, moment);
    if (!memory || memory.refusals.size === 0) return free;
    const refused = new Map<string, Blocker>();
    for (const [part, refusal] of memory.refusals) {
      const steps = free.steps.filter((step) => isChangeStep(step) && step.part === part);
      const isWanted =
        steps.some((step) => isChangeStep(step) && inputOf(step) === refusal.input) ||
        (free.more === true && steps.length === 0) ||
        isHeldBack(free, part, refusal.input);
      if (!isWanted) memory.refusals.delete(part);
      else if (refusal.untilMs > nowMs) refused.set(part, { reason: refusal.reason, message: refusal.message, untilMs: refusal.untilMs });
    }
    return refused.size === 0 ? free : this.#planner.plan(observed, { ...moment, refused });
  }

  /** True unless it is known without asking that the step would change nothing. */
  #isPending(step: Step<L, A>): boolean {
    if (step.verb !== "apply") return true;
    const { kind, object, live, owner } = step;
    return !isUpToDate(kind, object, { live, owner, operator: this.#scope.operator });
  }

  /** How long the key has to wait before it may change something. If it need not, its turn has come. */
  #waitMs(key: ObjectKey, { urgent, release }: Plan<L, A>): number {
    const { rateLimit } = this.#options;
    const nowMs = this.#scope.clock.monotonic();
    const heldMs = (this.#memories.get(key)?.heldUntilMs ?? nowMs) - nowMs;
    if (heldMs > 1) return heldMs;
    if (!rateLimit || this.#scope.dryRun) return 0;
    const memory = this.#memory(key);
    if (memory.hasTurn) return 0;
    const atMs = urgent || release ? nowMs : nextWriteAt(memory.writes, rateLimit, nowMs);
    if (atMs > nowMs) return atMs - nowMs;
    memory.writes = rememberWrite(memory.writes, nowMs);
    memory.hasTurn = true;
    return 0;
  }

  /** `done` are the actions of this run so far, if there may be more of them. */
  async #carryOut(
    step: Step<L, A>,
    observed: O,
    {
      run,
      nowMs,
      events,
      done,
    }: { readonly run: Run; readonly nowMs: number; readonly events: PlannedEvent[]; readonly done: Set<string> | undefined },
  ): Promise<O> {
    if (step.verb === "look") return (await this.#planner.look?.(step.at, observed, run, nowMs)) ?? missing(step.verb);
    let next = observed;
    if (step.verb === "do") {
      const name = done ? `${step.part ?? ""} ${canonicalJson(step.action)}` : "";
      if (done?.has(name)) throw new TransientError("the same action was planned twice in one run: it did not show", { reason: "InternalError" });
      done?.add(name);
      next = (await this.#planner.act?.(step.action, observed, run, nowMs)) ?? missing(step.verb);
    } else if (!(await this.#write(step, run))) return observed;
    if (step.log) run.done(step.log.message, step.log.fields);
    if (this.#scope.dryRun) return next;
    this.#planner.done?.(step, run);
    events.push(...(step.events ?? []));
    return next;
  }

  /** True if something was changed. */
  async #write(step: Extract<Step<L, A>, { readonly owner: unknown }>, { client, signal }: Run): Promise<boolean> {
    const { operator, controller } = this.#scope;
    const writer = ownedWriter({ client, operator, controller, owner: step.owner, signal });
    if (step.verb === "delete") return writer.remove(step.kind, step.name);
    const { kind, object, live, nameInWords } = step;
    try {
      return (await writer.apply(kind, object, live)) !== "unchanged";
    } catch (error) {
      const { name } = object.metadata;
      if (nameInWords !== undefined && name && error instanceof Error) error.message = error.message.replaceAll(name, nameInWords);
      throw error;
    }
  }

  /** Undefined if the error concerns the whole run. */
  #setAside(step: ChangeStep<L, A>, error: unknown, run: Run): Outcome | undefined {
    const { part } = step;
    if (part === undefined || !isRefusal(error)) return undefined;
    const memory = this.#memory(run.key);
    // What is not there may only be not there any more.
    if (isConflict(error) && memory.conflicts < maxConflicts) return undefined;
    const { reason, message } = failureOf(error);
    const count = (memory.refusals.get(part)?.count ?? 0) + 1;
    const delayMs = backoffDelayMs(count, this.#options.refusedPartBackoff ?? refusedPartBackoff, this.#scope.random);
    memory.refusals.set(part, { reason, message, untilMs: this.#serverTime(run) + delayMs, count, input: inputOf(step) });
    memory.hasTurn = true;
    run.log.warn(
      { part, reason, error: message, failures: count, retryInMs: Math.round(delayMs) },
      "a part was refused; the rest goes on without it",
    );
    return { requeueAfterMs: nextRunMs, unfinished: "refused" };
  }

  #withhold(run: Run, steps: readonly Step<L, A>[]): void {
    for (const step of steps) if (isChangeStep(step)) run.done(step.log?.message ?? inWords(step), step.log?.fields);
  }

  #record({ regarding, ...event }: PlannedEvent, key: ObjectKey): void {
    if (this.#scope.dryRun) return;
    for (const object of regarding ? [regarding] : (this.#planner.regarding?.(key) ?? [])) this.#reporter.record(object, event);
  }

  #serverTime({ now }: Pick<Run, "now">): number {
    return now + (this.#scope.serverAheadMs() ?? 0);
  }

  #skew(nowMs: number): Blocker<"ClockSkew"> | undefined {
    const aheadMs = this.#scope.serverAheadMs() ?? 0;
    if (Math.abs(aheadMs) <= maxSkewMs) return undefined;
    const words = `${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs > 0 ? "behind" : "ahead of"}`;
    const message = `the operator's clock is ${words} the API server's; nothing moves until they agree to within ${maxSkewMs / 1000} s`;
    return { reason: "ClockSkew", message, untilMs: nowMs + skewRetryMs };
  }

  #memory(key: ObjectKey): KeyMemory {
    const known = this.#memories.get(key);
    if (known) return known;
    const memory: KeyMemory = {
      conflicts: 0,
      failingSinceMs: undefined,
      told: undefined,
      unreported: undefined,
      writes: [],
      heldUntilMs: undefined,
      hasTurn: false,
      refusals: new Map(),
    };
    this.#memories.set(key, memory);
    return memory;
  }

  /** The run is over and all is done; what was tried again at its time was not refused. */
  #succeeded(key: ObjectKey, nowMs = 0, plan?: P): void {
    const memory = this.#memories.get(key);
    if (!memory) return;
    for (const [part, { untilMs, input }] of memory.refusals)
      if (untilMs <= nowMs && !(plan && isHeldBack(plan, part, input))) memory.refusals.delete(part);
    memory.conflicts = 0;
    memory.failingSinceMs = undefined;
    memory.heldUntilMs = undefined;
    memory.told = undefined;
    memory.hasTurn = false;
    if (memory.refusals.size === 0 && memory.writes.length === 0) this.#memories.delete(key);
  }

  /** What was refused may be taken now; how often it was is not forgotten. */
  #retryRefused(): void {
    for (const { refusals } of this.#memories.values()) {
      for (const [part, refusal] of refusals) refusals.set(part, { ...refusal, untilMs: 0 });
    }
  }

  /** What is held back past its time waits for its limit. */
  #retryAtMs(key: ObjectKey, nowMs: number): number | undefined {
    const refusals = this.#memories.get(key)?.refusals.values() ?? [];
    return earliest(Array.from(refusals, ({ untilMs }) => (untilMs > nowMs ? untilMs : undefined)));
  }

  #forget(key: ObjectKey): void {
    this.#memories.delete(key);
    this.#show(key, undefined);
  }
}

function missing(verb: string): never {
  throw new TransientError(`the plan has a step "${verb}" that its controller cannot carry out`, { reason: "InternalError" });
}

function isHeldBack({ heldBack = [] }: Pick<Plan, "heldBack">, part: string, input: string | undefined): boolean {
  return heldBack.some((held) => held.part === part && held.input === input);
}

function dueIn(atMs: number | undefined, nowMs: number): Outcome {
  return atMs === undefined ? {} : { requeueAfterMs: Math.max(0, atMs - nowMs) };
}

function isChangeStep<L, A>(step: Step<L, A>): step is ChangeStep<L, A> {
  return step.verb !== "look";
}

function inputOf<L, A>(step: ChangeStep<L, A>): string | undefined {
  return step.input ?? (step.verb === "apply" ? canonicalJson(step.object) : undefined);
}

/** What was done, for the log. Of an action only what it is called: nothing of its contents may get there. */
function inWords<L, A>(step: ChangeStep<L, A>): string {
  if (step.verb === "apply") return `applied ${resourceOf(step.kind)} ${keyOfObject(step.object)}`;
  if (step.verb === "delete") return `deleted ${resourceOf(step.kind)} ${keyOf(step.name)}`;
  const action: unknown = step.action;
  const name = isRecord(action) ? (action["type"] ?? action["verb"]) : action;
  return `done ${typeof name === "string" ? name : "an action"}${step.part === undefined ? "" : ` for ${step.part}`}`;
}
