// Runs a controller: sets it up once, and works on its keys during every term it is given.
import type { Cache, MetadataOnly, MetadataWatchOptions, WatchOptions } from "../cache/cache.ts";
import type { Caches } from "../cache/caches.ts";
import type { Client } from "../client/client.ts";
import type { Kind, KubeObject, ObjectKey, Stored } from "../client/kind.ts";
import type { ServerClock } from "../client/observed-transport.ts";
import type { Clock } from "../clock.ts";
import type { EventRecorder } from "../observe/events.ts";
import type { Logger } from "../observe/logger.ts";
import type { Metrics } from "../observe/metrics.ts";
import { defaultBackoff, KeyBackoff } from "../queue/backoff.ts";
import { clampedDelayMs } from "../queue/work-queue.ts";
import type { Random } from "../random.ts";
import { type Activity, type ControllerDefinition, type ControllerObserver, type ControllerScope, silentObserver } from "./controller.ts";
import { failureOf, type Reporter } from "./failure.ts";
import type { Operator } from "./owned-objects.ts";
import { type Term, trackAnswers, type WriteRecord } from "./run.ts";
import { RequestedKeys, cacheTrigger, type Trigger } from "./trigger.ts";
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
  readonly observer?: ControllerObserver;
  /** The client stores nothing, so no cache will ever show a write and none is waited for. Default false. */
  readonly dryRun?: boolean;
  /** Default: nothing is known about the server's clock. */
  readonly serverClock?: ServerClock;
  /** Default: outcomes are only logged and counted. */
  readonly report?: Reporter;
  /** How long a run may take to end after its signal aborted, before its worker is taken from it. Default 1,000. */
  readonly abandonAfterMs?: number;
  /** How long reporting one outcome may take. Default 10,000. */
  readonly reportDeadlineMs?: number;
}

/** As controller-runtime's `SyncPeriod`. */
const defaultResyncMs = 36_000_000;

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
  readonly #sessions = new Set<LeadershipTerm>();
  readonly #shown: Pick<ShownKeys<never>, "sweep">[] = [];
  readonly #requested = new RequestedKeys();
  readonly #blocked = new BlockedKeys();
  readonly #slots: WorkerSlots;
  readonly #place: WorkerContext;
  /** Aborts when nobody will run a key any more. */
  readonly #closed = new AbortController();

  /** Calls the definition's `setup`; what that throws is thrown. */
  constructor(definition: ControllerDefinition, options: RunnerOptions) {
    const { clock, random, observer = silentObserver } = options;
    const { name, concurrency = 16 } = definition;
    const log = options.log.child({ controller: name });
    this.definition = definition;
    this.#options = options;
    this.#slots = new WorkerSlots(concurrency, clock);
    observer.registered(name, { concurrency, activity: () => this.activity() });
    const reconcile = definition.setup(this.#scope(name, log, options.events(name)));
    this.#place = {
      controller: name,
      reconcile,
      deadlineMs: definition.deadlineMs ?? 60_000,
      abandonAfterMs: options.abandonAfterMs ?? 1_000,
      reportDeadlineMs: options.reportDeadlineMs ?? 10_000,
      resyncMs: definition.resyncMs ?? defaultResyncMs,
      triggers: this.#triggers,
      requested: this.#requested,
      slots: this.#slots,
      blocked: this.#blocked,
      backoff: new KeyBackoff(definition.backoff ?? defaultBackoff, random),
      random,
      clock,
      log,
      oddDelay: oddDelayLog(log),
      observer,
      dryRun: options.dryRun ?? false,
      trackedClient: (onWrite) => (options.dryRun ? options.client : trackAnswers(options.client, onWrite)),
      whenObserved: (write) => this.#whenObserved(write, log),
      report: async (failure, run) => {
        if (reconcile.failed) return reconcile.failed(failure, run);
        const { code, reason, message } = failure;
        const { key, now, client, signal } = run;
        return options.report?.({ controller: name, primary: definition.primary, key, outcome: { code, reason, message }, now, client }, signal);
      },
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
    const { operator, client, caches, clock, random, metrics, namespaces = [], dryRun = false, serverClock } = this.#options;
    const remember = <V>(cache: Cache<V>): Cache<V> => {
      this.#caches.add(cache);
      return cache;
    };
    function watch<V = Stored<MetadataOnly>>(kind: Kind, options: MetadataWatchOptions<V>): Cache<V>;
    function watch<T extends KubeObject, V = Stored<T>>(kind: Kind<T>, options?: WatchOptions<T, V>): Cache<V>;
    function watch<T extends KubeObject, V>(kind: Kind<T>, options?: WatchOptions<T, V>): Cache<V> {
      return remember(caches.watch(kind, options));
    }
    return {
      controller,
      operator,
      client,
      clock,
      random,
      log,
      metrics,
      events,
      namespaces,
      dryRun,
      closed: this.#closed.signal,
      serverAheadMs: () => serverClock?.aheadMs(),
      watch,
      trigger: (cache, keysOf = (change) => [change.key]) => {
        remember(cache);
        this.#triggers.push(cacheTrigger(cache, keysOf, log));
      },
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

  #mayShow(): boolean {
    for (const session of this.#sessions) if (session.active) return true;
    return false;
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
