// A term of leadership, and the work on a controller's keys while it lasts.
import type { Client } from "../client/client.ts";
import type { ObjectKey } from "../client/kind.ts";
import type { SendPermit } from "../client/transport.ts";
import { type Clock, sharedTimeSlice } from "../clock.ts";
import type { Logger } from "../observe/logger.ts";
import { backoffDelayMs, type KeyBackoff } from "../queue/backoff.ts";
import { WorkQueue } from "../queue/work-queue.ts";
import type { AddOptions, TakenKey } from "../queue/work-queue.ts";
import type { Random } from "../random.ts";
import type { ControllerObserver, Reconcile, Run, RunResult } from "./controller.ts";
import { type FailedRun, type Failure, refusalBackoff } from "./failure.ts";
import { permitOf, runClient, type RunEnd, type SignalOnDemand, type StartedRun, startRun, type Term, type WriteRecord } from "./run.ts";
import type { Enqueue, RequestedKeys, Trigger } from "./trigger.ts";
import type { WorkerSlots } from "./worker-slots.ts";

/** What all terms of one controller share. */
export interface WorkerContext {
  readonly controller: string;
  readonly reconcile: Reconcile;
  readonly deadlineMs: number;
  readonly abandonAfterMs: number;
  readonly reportDeadlineMs: number;
  readonly resyncMs: number;
  readonly triggers: readonly Trigger[];
  readonly requested: RequestedKeys;
  readonly slots: WorkerSlots;
  readonly blocked: BlockedKeys;
  readonly backoff: KeyBackoff;
  readonly random: Random;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called with delays that the queue has to replace. */
  readonly oddDelay: (key: ObjectKey, askedMs: number, delayMs: number) => void;
  readonly observer: ControllerObserver;
  /** What writes do is withheld. */
  readonly dryRun: boolean;
  /** A client whose writes need the permit and are recorded. */
  readonly trackedClient: (permit: SendPermit, onWrite: (write: WriteRecord) => void) => Client;
  /** Resolves when every cache of the controller shows the write; to false if it may have been undone unseen. */
  readonly whenObserved: (write: WriteRecord) => Promise<boolean>;
  /** Tells that a run failed or waits, or without a failure that this is over; the run is one of its own. */
  readonly report: (failure: FailedRun | undefined, run: Run) => Promise<void>;
  /** A run was refused, which may change without an event. */
  readonly onRefused: () => void;
  /** Whether something was told of the key that a success has to take back. */
  readonly isReported: (key: ObjectKey) => boolean;
}

interface RunningRun extends StartedRun {
  readonly startedMs: number;
}

/** As long as the longest backoff: a server may slow a key down, not park it. */
const maxAskedMs = 300_000;

/** Works on keys from `work` until its term is over. */
export class LeadershipTerm {
  readonly #context: WorkerContext;
  readonly #term: Term;
  readonly #queue: WorkQueue;
  readonly #running = new Map<ObjectKey, RunningRun>();
  readonly #ends = new Set<Promise<void>>();
  #replays: readonly ((enqueue: Enqueue) => Iterable<void>)[] = [];

  constructor(context: WorkerContext, term: Term) {
    this.#context = context;
    this.#term = term;
    const { clock, observer, controller, slots, oddDelay: onOddDelay } = context;
    this.#queue = new WorkQueue({ clock, onReady: () => slots.wake(), onAdded: () => observer.added(controller), onOddDelay });
  }

  /** Keys ready, keys delayed, and when each running run started. */
  get load(): { readonly ready: number; readonly delayed: number; readonly startedMs: readonly number[] } {
    const startedMs = Array.from(this.#running.values(), (run) => run.startedMs);
    return { ready: this.#queue.readyCount, delayed: this.#queue.delayedCount, startedMs };
  }

  /** Asks for a run of a key. */
  enqueue(key: ObjectKey, options: AddOptions): void {
    const { backoff, clock } = this.#context;
    const waitsMs = backoff.changeWaitsMs(key, clock.monotonic());
    this.#queue.add(key, waitsMs > (options.afterMs ?? 0) ? { ...options, afterMs: waitsMs } : options);
  }

  /** False as soon as the term is over. */
  get active(): boolean {
    return !this.#term.signal.aborted;
  }

  /** True while the term's right to write lasts, by the clock. */
  get mayWrite(): boolean {
    return this.active && this.#term.isValid();
  }

  /** Starts with every key there is, and resolves when the term is over and no run is under way; runs that do not listen are left behind. */
  async work(): Promise<void> {
    const { signal, drain } = this.#term;
    if (this.#isOver) return;
    const enqueue = (key: ObjectKey, options: AddOptions): void => this.enqueue(key, options);
    const subscriptions = this.#context.triggers.map((trigger) => trigger(enqueue));
    this.#replays = subscriptions.map(({ replay }) => replay);
    await this.#replay(enqueue);
    this.#context.requested.replay(enqueue, this.#context.clock.monotonic());
    const stopResync = this.#startResync();
    const leave = this.#context.slots.join(() => this.#startNext());
    this.#context.slots.wake();

    const stopRuns = (): void => this.#running.forEach((run) => run.stop());
    signal.addEventListener("abort", stopRuns, { once: true });
    await aborted(drain, signal);
    leave();
    stopResync();
    for (const { stop } of subscriptions) stop();
    this.#queue.close();
    while (this.#ends.size > 0) await Promise.all(this.#ends);
    signal.removeEventListener("abort", stopRuns);
  }

  /** Asks for every key there is, a slice at a time. */
  async #replay(enqueue: Enqueue): Promise<void> {
    const slice = sharedTimeSlice(this.#context.clock);
    for (const replay of this.#replays) {
      for (const _step of replay(enqueue)) {
        if (slice.used) await slice.pause();
        if (this.#isOver) return;
      }
    }
  }

  /** Asks for every key there is, each at some time of the next `withinMs`. */
  wakeAll(withinMs: number): void {
    const { random } = this.#context;
    void this.#replay((key, { priority = 0 }) => this.enqueue(key, { priority, afterMs: Math.max(1, random() * withinMs) }));
  }

  /** Asks for every key again and again. One timer serves them all: a key that needs nothing costs nothing meanwhile. */
  #startResync(): () => void {
    const { clock, resyncMs } = this.#context;
    const resync = (): void => {
      timer = clock.setTimer(resyncMs, resync);
      this.wakeAll(resyncMs * 0.1);
    };
    let timer = clock.setTimer(resyncMs, resync);
    return () => timer.cancel();
  }

  /** True once no more runs are to start. */
  get #isOver(): boolean {
    return this.#term.signal.aborted || this.#term.drain.aborted;
  }

  #startNext(): boolean {
    const { blocked } = this.#context;
    // The clock knows of a lost lease before the signal does when this process was stopped for a while.
    if (this.#isOver || !this.#term.isValid()) return false;
    for (let taken = this.#queue.take(); taken; taken = this.#queue.take()) {
      const { key, priority } = taken;
      const free = blocked.whenFree(key);
      if (!free) {
        const end = this.#run(taken).finally(() => this.#ends.delete(end));
        this.#ends.add(end);
        return true;
      }
      // Parked outside the queue, but without a worker: it comes back as soon as it is free.
      this.#queue.add(key, { priority });
      void free.then(() => this.#queue.done(key));
    }
    return false;
  }

  async #run({ key, priority, queuedMs }: TakenKey): Promise<void> {
    const { controller, clock, observer, slots, blocked, requested } = this.#context;
    const startedMs = clock.monotonic();
    const now = clock.now();
    const askedFor = requested.current(key);
    observer.started(controller, { queuedMs });

    const started = startRun({
      clock,
      deadlineMs: this.#context.deadlineMs,
      abandonAfterMs: this.#context.abandonAfterMs,
      reconcile: (signal) => this.#context.reconcile(this.#given(key, now, signal)),
    });
    this.#running.set(key, { ...started, startedMs });
    blocked.block(key, started.settled);
    const end = await started.ended;
    this.#running.delete(key);

    const durationMs = clock.monotonic() - startedMs;
    const { result, reported } = this.#conclude(key, priority, end, durationMs);
    if (end.type === "ok" && end.outcome.requeueAfterMs === undefined) requested.fulfil(key, askedFor);
    observer.finished(controller, { result, terminal: isRefused(end), durationMs });
    if (isRefused(end)) this.#context.onRefused();
    if (end.abandoned) this.#abandoned(key, started.settled);
    if (reported || (end.type === "ok" && !end.outcome.unfinished && this.#context.isReported(key))) await this.#report(key, reported, now);

    const free = blocked.whenFree(key);
    if (free) void free.then(() => this.#queue.done(key));
    else this.#queue.done(key);
    slots.release();
  }

  /** What a run is given. Most runs find nothing to do: what costs something is made when it is first asked for. */
  #given(key: ObjectKey, now: number, signal: SignalOnDemand): Run {
    const { log, backoff, dryRun } = this.#context;
    const makePermit = (): SendPermit => permitOf(this.#term, () => signal().throwIfAborted());
    const makeClient = (): Client => this.#client(key, signal);
    let client: Client | undefined;
    let permit: SendPermit | undefined;
    let keyLog: Logger | undefined;
    return {
      key,
      now,
      failures: backoff.failures(key),
      get signal() {
        return signal();
      },
      get client() {
        return (client ??= makeClient());
      },
      get permit() {
        return (permit ??= makePermit());
      },
      get log() {
        return (keyLog ??= log.child({ key }));
      },
      done(message, fields = {}, count = () => {}) {
        const said = (keyLog ??= log.child({ key }));
        if (dryRun) return said.info(fields, `would have ${message}; withheld by dry run`);
        said.info(fields, message);
        count();
      },
    };
  }

  #client(key: ObjectKey, signal: SignalOnDemand): Client {
    const { blocked, whenObserved, trackedClient } = this.#context;
    const observed = async (write: WriteRecord): Promise<void> => {
      // What was undone before any cache showed it leaves no change behind that would bring the next run.
      if (!(await whenObserved(write))) this.enqueue(key, {});
    };
    const permit = permitOf(this.#term, () => signal().throwIfAborted());
    const client = trackedClient(permit, (write) => blocked.block(key, observed(write)));
    return runClient({ client, permit, signal, onSent: (fate) => blocked.block(key, fate) });
  }

  /** Decides when the key runs next, and what is to be reported of this run. */
  #conclude(key: ObjectKey, priority: number, end: RunEnd, tookMs: number): { readonly result: RunResult; readonly reported: FailedRun | undefined } {
    if (end.type === "stopped") return { result: "aborted", reported: undefined };
    if (end.type === "failed") {
      const { failure } = end;
      const retryInMs = this.#scheduleRetry(key, priority, failure);
      return { result: failure.code === "Waiting" ? "waiting" : "error", reported: { ...failure, tookMs, retryInMs } };
    }
    const { requeueAfterMs, unfinished } = end.outcome;
    if (!unfinished) this.#context.backoff.forget(key);
    if (requeueAfterMs !== undefined) this.#queue.add(key, { afterMs: requeueAfterMs });
    if (unfinished === "refused") return { result: "error", reported: undefined };
    return { result: requeueAfterMs === undefined ? "success" : "requeue_after", reported: undefined };
  }

  /** Returns in how much time the key runs again. */
  #scheduleRetry(key: ObjectKey, priority: number, failure: Failure): number {
    const { code, reason, message, retryAfterMs, unexpected } = failure;
    const { backoff, clock, log, observer, controller } = this.#context;
    const fields = { key, reason, error: message, ...unexpected };
    if (code === "Waiting") {
      backoff.forget(key);
      log.debug(fields, "waiting");
      if (retryAfterMs !== undefined) this.#queue.add(key, { priority, afterMs: retryAfterMs });
      return retryAfterMs ?? Infinity;
    }
    const nowMs = clock.monotonic();
    const leftMs = backoff.leftMs(key, nowMs);
    if (leftMs !== undefined) backoff.failedEarly(key, nowMs);
    const afterMs = leftMs ?? this.#backoffMs(key, failure);
    backoff.due(key, nowMs + afterMs);
    log.warn({ ...fields, failures: backoff.failures(key), retryInMs: Math.round(afterMs) }, "reconcile failed; it will be tried again");
    this.#queue.add(key, { priority, afterMs });
    observer.retried(controller);
    return afterMs;
  }

  #backoffMs(key: ObjectKey, { code, retryAfterMs = 0, serverAskedMs = 0 }: Failure): number {
    const { backoff, random } = this.#context;
    const refusedMs = code === "Refused" ? backoffDelayMs(backoff.failures(key) + 1, refusalBackoff, random) : 0;
    const backoffMs = backoff.fail(key, Math.min(retryAfterMs, maxAskedMs));
    // On top of what the API server asks for: it asks everybody for the same, and goes on doing so while it is overloaded.
    return Math.min(serverAskedMs, maxAskedMs) + Math.max(backoffMs, refusedMs);
  }

  #abandoned(key: ObjectKey, settled: Promise<void>): void {
    const { observer, controller, log, clock } = this.#context;
    const sinceMs = clock.monotonic();
    observer.abandoned(controller);
    log.error({ key }, "a reconcile ignores its signal and was abandoned; its key is held until it ends, others go on");
    void settled.then(() => log.info({ key, afterMs: clock.monotonic() - sinceMs }, "an abandoned reconcile has ended; its key is free"));
  }

  /** Reports how the run ended. What goes wrong here is logged and left at that; a report that does not end blocked its key, not the worker. */
  async #report(key: ObjectKey, failure: FailedRun | undefined, now: number): Promise<void> {
    const { clock, reportDeadlineMs, abandonAfterMs, blocked, log, report } = this.#context;
    if (!this.#term.isValid() || this.#term.signal.aborted) return;
    const started = startRun({
      clock,
      deadlineMs: reportDeadlineMs,
      abandonAfterMs,
      reconcile: (signal) => report(failure, this.#given(key, now, signal)),
    });
    this.#running.set(key, { ...started, startedMs: clock.monotonic() });
    blocked.block(key, started.settled);
    const end = await started.ended;
    this.#running.delete(key);
    if (end.type !== "failed") return;
    const { reason, message, unexpected } = end.failure;
    log.warn({ key, reason, error: message, ...unexpected }, "the outcome of a run could not be reported");
  }
}

/** True if somebody has to change something before the whole of the key can succeed. */
function isRefused(end: RunEnd): boolean {
  return end.type === "failed" ? end.failure.code === "Refused" : end.type === "ok" && end.outcome.unfinished === "refused";
}

/** Resolves when one of the signals aborts. */
function aborted(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    if (signals.some((signal) => signal.aborted)) return resolve();
    for (const signal of signals) signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Blocks keys until everything they wait for has happened. */
export class BlockedKeys {
  readonly #blocked = new Map<string, Set<Promise<void>>>();

  /** How many keys are blocked. */
  get size(): number {
    return this.#blocked.size;
  }

  /** Blocks the key until `settled` is settled, in addition to what it already waits for. The outcome does not matter. */
  block(key: string, settled: Promise<unknown>): void {
    const waits = this.#blocked.get(key) ?? new Set();
    this.#blocked.set(key, waits);
    const over = (): void => {
      waits.delete(wait);
      if (waits.size === 0) this.#blocked.delete(key);
    };
    const wait: Promise<void> = settled.then(over, over);
    waits.add(wait);
  }

  /** Undefined if the key is free, else a promise of that. */
  whenFree(key: string): Promise<void> | undefined {
    return this.#blocked.has(key) ? this.#freed(key) : undefined;
  }

  async #freed(key: string): Promise<void> {
    for (let waits = this.#blocked.get(key); waits; waits = this.#blocked.get(key)) await Promise.all(waits);
  }
}
