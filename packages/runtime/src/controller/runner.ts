// Runs a controller: sets it up once, and works on its keys during every term it is given.
import { type AnyWatch, type AnyWatchOptions, type Cache, type Watch } from "../cache/cache.ts";
import type { Caches } from "../cache/caches.ts";
import { selectsByContent } from "../cache/write-tracker.ts";
import type { Client } from "../client/client.ts";
import type { Kind, ObjectKey } from "../client/kind.ts";
import type { ServerClock } from "../client/observed-transport.ts";
import type { Sender } from "../client/transport.ts";
import { type Clock, sleep, checkNumbers } from "../clock.ts";
import type { EventRecorder } from "../observe/events.ts";
import type { Logger } from "../observe/logger.ts";
import type { Metrics } from "../observe/metrics.ts";
import { backoffDelayMs, defaultBackoff, KeyBackoff } from "../queue/backoff.ts";
import { clampedDelayMs } from "../queue/work-queue.ts";
import type { Random } from "../random.ts";
import {
  type Activity,
  type ControllerDefinition,
  type ControllerObserver,
  type ControllerScope,
  type Outcome,
  type Reconcile,
  type Run,
} from "./controller.ts";
import { type FailedRun, failureOf, refusalBackoff, type Reporter } from "./failure.ts";
import type { Schemas } from "../manager/schema-watch.ts";
import { type Operator, ownersOf } from "./owned-objects.ts";
import { permitOf, type Term, trackAnswers, type WriteRecord } from "./run.ts";
import { RequestedKeys, cacheTrigger, statesOf, type Trigger, type UnreadableFor, unreadableFor } from "./trigger.ts";
import { BlockedKeys, LeadershipTerm, type WorkerContext } from "./leadership-term.ts";
import { WorkerSlots } from "./worker-slots.ts";

/** What a controller is run with. */
export interface RunnerOptions {
  /** Whose controllers they are. */
  readonly operator: Operator;
  readonly client: Client;
  readonly caches: Caches;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The recorder of each controller. */
  readonly events: (controller: string) => EventRecorder;
  /** Namespaces the operator is limited to; default all. */
  readonly namespaces?: readonly string[];
  /** The operator's own namespace. Default `default`. */
  readonly operatorNamespace?: string;
  readonly observer?: ControllerObserver;
  /** The client stores nothing, so no cache will ever show a write and none is waited for. Default false. */
  readonly dryRun?: boolean;
  /** Default: nothing is known about the server's clock. */
  readonly serverClock?: ServerClock;
  /** See `ControllerScope`. Default: there is none. */
  readonly installationKey?: ControllerScope["installationKey"];
  /** Default: outcomes are only logged and counted. */
  readonly report?: Reporter;
  /** Wakes all keys when the schema of a kind that the controller watches has changed. Default: nobody looks. */
  readonly schemas?: Schemas;
  /** How long a run may take to end after its signal aborted, before its worker is taken from it. Default 1,000. */
  readonly abandonAfterMs?: number;
  /** How long reporting one outcome may take. Default 10,000. */
  readonly reportDeadlineMs?: number;
  /** For controllers that say nothing else; see `ControllerDefinition.resyncMs`. Default 10 h, as controller-runtime's `SyncPeriod`. */
  readonly resyncMs?: number;
}

const defaultResyncMs = 36_000_000;
/** Less would keep a process busy with what has not changed. */
const minResyncMs = 1_000;

/** Listens to nothing. */
export const silentObserver: ControllerObserver = {
  registered() {},
  added() {},
  retried() {},
  started() {},
  finished() {},
  abandoned() {},
  leaseChanged() {},
};

/** Long enough for thousands of keys not to come at once, and for each API server to have taken a schema in that one of them shows. */
const wakeWithinMs = 10_000;

/**
 * One controller in this process, active or not.
 *
 * Guarantees: one run per key at a time, across terms too and even where a run ignores its signal; a key is not run from a cache that has not
 * shown that key's last write; a key that hangs, fails or waits holds no worker but while it runs, and no longer than its deadline.
 */
export class ControllerRunner {
  readonly definition: ControllerDefinition;
  readonly #options: RunnerOptions;
  readonly #caches = new Set<Cache<unknown>>();
  readonly #triggers: Trigger[] = [];
  readonly #unreadable: UnreadableFor[] = [];
  readonly #schemaListeners: (() => void)[] = [];
  readonly #sessions = new Set<LeadershipTerm>();
  readonly #shown: Pick<ShownKeys<never>, "sweep">[] = [];
  readonly #requested = new RequestedKeys();
  /** Of which keys the operator's reporter was told a failure, since when, and on which kind of object it shows. */
  readonly #reported = new Map<ObjectKey, { readonly sinceMs: number; readonly primary: Kind | undefined }>();
  readonly #blocked = new BlockedKeys();
  readonly #slots: WorkerSlots;
  readonly #place: WorkerContext;
  /** Aborts when nobody will run a key any more. */
  readonly #closed = new AbortController();

  /** Calls the definition's `setup`; what that throws is thrown, and a `RangeError` for numbers that make no sense. */
  constructor(definition: ControllerDefinition, options: RunnerOptions) {
    const { clock, random, observer = silentObserver } = options;
    const { name, concurrency = 16, deadlineMs = 60_000, backoff = defaultBackoff } = definition;
    const { abandonAfterMs = 1_000, reportDeadlineMs = 10_000 } = options;
    const resyncMs = definition.resyncMs ?? options.resyncMs ?? defaultResyncMs;
    checkNumbers({ concurrency, deadlineMs, abandonAfterMs, reportDeadlineMs, "backoff.firstMs": backoff.firstMs, "backoff.maxMs": backoff.maxMs });
    checkNumbers({ resyncMs }, minResyncMs);
    checkNumbers({ "backoff.spread": backoff.spread }, 0);
    const log = options.log.child({ controller: name });
    this.definition = definition;
    this.#options = options;
    this.#slots = new WorkerSlots(concurrency, clock);
    observer.registered(name, { concurrency, activity: () => this.activity() });
    const reconcile = definition.setup(this.#scope(name, log, options.events(name)));
    options.schemas?.subscribe(
      () => Array.from(this.#caches, ({ kind }) => kind),
      () => this.#schemaChanged(log),
    );
    this.#place = {
      controller: name,
      reconcile: (run) => this.#reconcile(reconcile, run),
      deadlineMs,
      abandonAfterMs,
      reportDeadlineMs,
      resyncMs,
      triggers: this.#triggers,
      requested: this.#requested,
      slots: this.#slots,
      blocked: this.#blocked,
      backoff: new KeyBackoff(backoff, random),
      random,
      clock,
      log,
      oddDelay: oddDelayLog(log),
      observer,
      dryRun: options.dryRun ?? false,
      trackedClient: (permit, onWrite) => {
        const answersWhole = (kind: Kind): boolean => this.#selectsByContent(kind);
        const sending = sendingAs(options.client, { flow: name, permit, answersWhole });
        return options.dryRun ? sending : trackAnswers(sending, onWrite, answersWhole);
      },
      whenObserved: (write) => this.#whenObserved(write, log),
      report: (failure, run) => this.#report(reconcile, failure, run),
      onRefused: () => options.schemas?.expectChange(),
      isReported: (key) => this.#reported.has(key),
    };
  }

  /** The caches that the controller watches. */
  get caches(): ReadonlySet<Cache<unknown>> {
    return this.#caches;
  }

  /** True while at least one term is being worked in. */
  get active(): boolean {
    return this.#sessions.size > 0;
  }

  /** Resolves when every cache of the controller has its first list. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from(this.#caches, (cache) => cache.whenSynced(signal)));
  }

  /** Works on all keys until the term is over and no run is under way. The caches must have synced. */
  async work(term: Term): Promise<void> {
    const session = new LeadershipTerm(this.#place, term);
    const sweep = (): void => this.#shown.forEach((shown) => shown.sweep());
    this.#sessions.add(session);
    // A lost lease takes effect at once, also while the last runs are still being stopped.
    term.signal.addEventListener("abort", sweep, { once: true });
    void this.#findReported(session, term.signal);
    try {
      await session.work();
    } finally {
      this.#sessions.delete(session);
      term.signal.removeEventListener("abort", sweep);
      sweep();
    }
  }

  /** Asks the controller to close what it opened. Call it when no term will follow. */
  close(): void {
    this.#closed.abort();
  }

  activity(): Activity {
    const loads = Array.from(this.#sessions, (session) => session.load);
    const nowMs = this.#options.clock.monotonic();
    const agesMs = loads.flatMap(({ startedMs }) => startedMs.map((ms) => nowMs - ms));
    return {
      ready: loads.reduce((sum, { ready }) => sum + ready, 0),
      delayed: loads.reduce((sum, { delayed }) => sum + delayed, 0),
      running: this.#slots.used,
      held: this.#blocked.size,
      unfinishedMs: agesMs.reduce((sum, ms) => sum + ms, 0),
      maxRunningMs: Math.max(0, ...agesMs),
    };
  }

  #scope(controller: string, log: Logger, events: EventRecorder): ControllerScope {
    const {
      operator,
      client,
      caches,
      clock,
      random,
      metrics,
      namespaces = [],
      operatorNamespace = "default",
      dryRun = false,
      serverClock,
    } = this.#options;
    const remember = <V>(cache: Cache<V>): Cache<V> => {
      this.#caches.add(cache);
      return cache;
    };
    const watch = ((kind: Kind, watched?: AnyWatchOptions) =>
      remember((caches.watch as AnyWatch)(kind, { unreadable: "error", ...watched }))) as Watch;
    const trigger: ControllerScope["trigger"] = (cache, keysOf, { when } = {}) => {
      remember(cache);
      const source = { cache, ...(keysOf && { keysOf }), ...(when && { when }) };
      this.#triggers.push(cacheTrigger(source, log));
      this.#unreadable.push(unreadableFor(source));
    };
    return {
      controller,
      operator,
      client: sendingAs(client, { flow: controller, permit: permitOf({ signal: this.#closed.signal, isValid: () => this.#mayWrite() }) }),
      clock,
      random,
      log,
      metrics,
      events,
      namespaces,
      operatorNamespace,
      dryRun,
      closed: this.#closed.signal,
      serverAheadMs: () => serverClock?.aheadMs(),
      onSchemaChange: (listener) => void this.#schemaListeners.push(listener),
      installationKey: this.#options.installationKey ?? (() => Promise.resolve(undefined)),
      isServed: (cache) => this.#options.caches.statusOf(cache).state.type !== "missing",
      watch,
      owns: (cache, owner = this.definition.primary) => {
        if (!owner) throw new Error(`${controller}: owns() needs the kind of the owner, or a primary kind`);
        trigger(cache, (change) => statesOf(change).flatMap((object) => ownersOf(object, operator, owner)));
      },
      trigger,
      enqueue: (key, { afterMs = 0 } = {}) => {
        // Here, zero means at once.
        this.#requested.ask(key, clock.monotonic() + (afterMs === 0 ? 0 : clampedDelayMs(afterMs)));
        for (const session of this.#sessions) session.enqueue(key, afterMs === 0 ? {} : { afterMs });
      },
      show: (view) => {
        const shown = new ShownKeys(view, () => this.#mayShow());
        this.#shown.push(shown);
        return (key, value) => shown.set(key, value);
      },
    };
  }

  /** A key that an unreadable object concerns is not run: what it would be decided from is not what is there. */
  async #reconcile(reconcile: Reconcile, run: Run): Promise<Outcome | void> {
    for (const find of this.#unreadable) {
      const error = find(run.key);
      if (error) throw error;
    }
    return reconcile(run);
  }

  /** Without a failure: takes back what was reported of the key. */
  async #report(reconcile: Reconcile, failure: FailedRun | undefined, run: Run): Promise<void> {
    const { report, clock } = this.#options;
    const { name: controller, primary: declared } = this.definition;
    const { key, now, client, signal } = run;
    // What the controller holds of an object that it cannot read is out of date, if it holds anything.
    const isOwn = failure?.unreadable?.key === key;
    if (failure && reconcile.failed && !isOwn) return reconcile.failed(failure, run);
    const { sinceMs = clock.monotonic(), primary = isOwn ? failure?.unreadable?.kind : declared } = this.#reported.get(key) ?? {};
    if (failure) this.#reported.set(key, { sinceMs, primary });
    await report?.({ controller, primary, key, outcome: failure, failingForMs: clock.monotonic() - sinceMs, now, client }, signal);
    if (!failure) this.#reported.delete(key);
  }

  /** What an earlier process has reported is taken back too, once a run succeeds. It is looked for until it has been found, or the term is over. */
  async #findReported(session: LeadershipTerm, signal: AbortSignal): Promise<void> {
    const { report, log, clock, random, dryRun = false } = this.#options;
    const { primary, name } = this.definition;
    if (!primary || !report?.standing || dryRun) return;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        for (const key of await report.standing(primary, name, signal)) {
          if (!this.#reported.has(key)) this.#reported.set(key, { sinceMs: clock.monotonic(), primary });
          session.enqueue(key, {});
        }
        return;
      } catch (error) {
        if (signal.aborted) return;
        const { reason, message, unexpected } = failureOf(error);
        log.warn(
          { controller: name, reason, error: message, ...unexpected },
          "could not look for conditions that an earlier process has set; trying again",
        );
        // Rejects when the term is over, and then nothing is looked for.
        await sleep(clock, backoffDelayMs(failures, refusalBackoff, random), signal).catch(() => undefined);
      }
    }
  }

  #schemaChanged(log: Logger): void {
    log.info({}, "the schema of a watched kind has changed: every object is looked at again");
    for (const listener of this.#schemaListeners) listener();
    for (const session of this.#sessions) session.wakeAll(wakeWithinMs);
  }

  #mayShow(): boolean {
    for (const session of this.#sessions) if (session.active) return true;
    return false;
  }

  #mayWrite(): boolean {
    for (const session of this.#sessions) if (session.mayWrite) return true;
    return false;
  }

  #selectsByContent({ group, plural }: Kind): boolean {
    return this.#caches.values().some(({ kind, selection }) => kind.plural === plural && kind.group === group && selectsByContent(selection));
  }

  async #whenObserved(write: WriteRecord, log: Logger): Promise<boolean> {
    const { group, plural } = write.kind;
    const waits: Promise<boolean>[] = [];
    for (const cache of this.#caches) {
      if (cache.kind.plural === plural && cache.kind.group === group) waits.push(this.#options.caches.whenObserved(cache, write));
    }
    let seen = true;
    for (const result of await Promise.allSettled(waits)) {
      if (this.#closed.signal.aborted) return true;
      if (result.status === "fulfilled") {
        seen &&= result.value;
        continue;
      }
      const { reason, message, unexpected } = failureOf(result.reason);
      log.warn({ key: write.key, reason, error: message, ...unexpected }, "could not wait until a cache showed a write");
    }
    return seen;
  }
}

function sendingAs(client: Client, sender: Sender): Client {
  return client.sendingAs?.(sender) ?? client;
}

/** Says once for each controller that it asked for a delay that makes no sense: who does so once usually does so in every run. */
function oddDelayLog(log: Logger): WorkerContext["oddDelay"] {
  let said = false;
  return (key, askedMs, delayMs) => {
    if (said) return;
    said = true;
    // As text, for JSON has no NaN.
    log.warn({ key, askedMs: String(askedMs), delayMs }, "a delay that makes no sense was asked for and replaced; this is said once");
  };
}

// What a controller shows of its keys outside of the cluster, such as in metrics, for as long as this process works on them.

/** How something is shown of a key, and how that is undone. */
export interface KeyView<V> {
  show(key: ObjectKey, value: V): void;
  /** Called only for a key that is shown. */
  hide(key: ObjectKey): void;
}

/** The keys that are shown through one view. Outside of a term nothing is shown, whoever asks for it. */
export class ShownKeys<V> {
  readonly #view: KeyView<V>;
  readonly #isActive: () => boolean;
  readonly #keys = new Set<ObjectKey>();

  constructor(view: KeyView<V>, isActive: () => boolean) {
    this.#view = view;
    this.#isActive = isActive;
  }

  /** Shows this of a key, or nothing more. */
  set(key: ObjectKey, value: V | undefined): void {
    // A run that does not listen to its signal outlives its term.
    if (value === undefined || !this.#isActive()) return this.#hide(key);
    this.#keys.add(key);
    this.#view.show(key, value);
  }

  /** Hides everything, unless keys are worked on here. */
  sweep(): void {
    if (!this.#isActive()) for (const key of this.#keys) this.#hide(key);
  }

  #hide(key: ObjectKey): void {
    if (this.#keys.delete(key)) this.#view.hide(key);
  }
}
