// All caches of one process: one watch per kind, selection and `keep`, however many controllers want it, started together and reported to health checks.
import type { Selection } from "../client/client.ts";
import { type Kind, type KubeObject, resourceOf, type Stored } from "../client/kind.ts";
import type { Transport } from "../client/transport.ts";
import type { Clock } from "../clock.ts";
import type { WriteRecord } from "../controller/run.ts";
import type { Logger } from "../observe/logger.ts";
import { safeErrorPlace } from "../observe/redaction.ts";
import type { Random } from "../random.ts";
import { Reflector, watchSource } from "../watch/reflector.ts";
import type { WatchState } from "../watch/step.ts";
import type { WatchLimits } from "../watch/watch-limits.ts";
import { type AnyWatchOptions, type Cache, type Watch } from "./cache.ts";
import { StoreCache, UnionCache } from "./derived-caches.ts";
import { Store, UnreadableValue } from "./store.ts";
import { coverage, WriteTracker } from "./write-tracker.ts";

/** How a watch fares. */
export interface WatchStatus {
  /** `plural.group`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly state:
    | { readonly type: "idle" }
    | { readonly type: "syncing" }
    | { readonly type: "live" }
    /** Retrying after a transient failure. */
    | { readonly type: "retrying"; readonly error: string }
    /** The server does not serve this kind (404): the CRD is not installed. */
    | { readonly type: "missing" }
    /** The server refuses (403): `rule` is the exact right that is missing, such as `list secrets in the cluster`. */
    | { readonly type: "forbidden"; readonly rule: string };
  readonly synced: boolean;
  /** Those who watch do without it while the kind is not served. Default false. */
  readonly optional?: boolean;
  readonly objects: number;
  /** Since the last byte from the server. */
  readonly quietForMs: number;
}

/** The caches of a process. */
export interface Caches {
  readonly watch: Watch;
  /** Starts every watch declared so far, and later ones at once; all end when the signal aborts. */
  start(signal: AbortSignal): void;
  statuses(): readonly WatchStatus[];
  /** The status of the watch behind one cache. */
  statusOf(cache: Cache<unknown>): WatchStatus;
  /**
   * Resolves when `cache` shows the write or something newer. At once if the cache does not cover the written object.
   * A complete relist that began after the write settles it too, so restored servers whose resourceVersions went backwards cannot hold it up.
   * Resolves to false if the write may have been undone without the cache ever showing it: then no change follows, and the key must run again.
   */
  whenObserved(cache: Cache<unknown>, write: WriteRecord, signal?: AbortSignal): Promise<boolean>;
}

/** What all caches of a process share. */
interface CachesOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Limits watches of namespaced kinds that name no namespace to these: one watch each, shown as one cache. Default none: the whole cluster. */
  readonly namespaces?: readonly string[];
  /** What servers may send, and for tests the times of watches; see `WatchLimits` for the defaults. */
  readonly limits?: Partial<WatchLimits>;
}

/** How a cache fares and what it costs; two `keep`s of one kind are two of these. */
interface CacheStatus extends WatchStatus {
  readonly selection: Selection;
  /** `whole`, `metadata`, or the name of the `keep` function. */
  readonly keep: string;
  /** From the server since the start. */
  readonly receivedBytes: number;
  /** Objects that `keep` throws for. */
  readonly unreadable: number;
}

type Keep = ((object: Stored<KubeObject>) => unknown) | undefined;

/** What the server is asked to send of each object. */
type Sent = "whole" | "metadata";

/** One watch and the store that it feeds. */
interface SharedWatch {
  readonly kind: Kind;
  readonly selection: Selection;
  readonly keep: Keep;
  readonly sent: Sent;
  readonly optional: boolean;
  readonly after: Cache<unknown> | undefined;
  readonly store: Store<unknown>;
  readonly reflector: Reflector<unknown>;
  readonly writes: WriteTracker;
  readonly covers: (write: WriteRecord, held: boolean) => boolean;
}

/** Makes the caches of a process. Nothing is requested before `start`. */
export function createCaches(options: CachesOptions): CacheRegistry {
  return new CacheRegistry(options);
}

/** See `Caches`. */
export class CacheRegistry implements Caches {
  readonly #options: CachesOptions;
  readonly #shared: SharedWatch[] = [];
  readonly #viewed = new WeakMap<Cache<unknown>, readonly SharedWatch[]>();
  #signal: AbortSignal | undefined;

  constructor(options: CachesOptions) {
    this.#options = options;
  }

  // What is kept is known to the one who asks, and forgotten in between: see `#share`.
  readonly watch: Watch = ((kind: Kind, options?: AnyWatchOptions) => this.#watch(kind, options)) as Watch;

  #watch(kind: Kind, options: AnyWatchOptions = {}): Cache<unknown> {
    if (isSecret(kind) && !options.keep && !options.only && !options.whole)
      throw new Error("a watch of Secrets needs `keep`, `only` or `whole: true`: nobody should hold whole Secrets by accident");
    const { keep, indexes = {}, only: sent = "whole", optional = false, after, unreadable = "absent", whole: _whole, ...selection } = options;
    const limits = new Set(kind.namespaced && selection.namespace === undefined ? this.#options.namespaces : []);
    const [first, ...others] = Array.from(limits, (namespace) => this.#watch(kind, { ...options, namespace }));
    if (first && others.length > 0) {
      const parts = [first, ...others];
      const union = new UnionCache(parts, selection);
      this.#viewed.set(
        union,
        parts.flatMap((part) => this.#sharedOf(part)),
      );
      return union;
    }
    if (first) return first;
    // A shared watch is found by the very `keep` that made its values, so they are of the type that is asked for.
    const shared = this.#share(kind, selection, { keep, sent, optional, after });
    const holds = keep ? "kept" : sent;
    const view = new StoreCache<unknown>({ kind, selection, store: shared.store, indexes, unreadable, holds });
    this.#viewed.set(view, [shared]);
    return view;
  }

  start(signal: AbortSignal): void {
    if (this.#signal) throw new Error("the caches have been started already");
    this.#signal = signal;
    for (const shared of this.#shared) this.#run(shared, signal);
  }

  statuses(): readonly CacheStatus[] {
    return this.#shared.map(statusOfShared);
  }

  statusOf(cache: Cache<unknown>): CacheStatus {
    const statuses = this.#sharedOf(cache).map(statusOfShared);
    const [first] = statuses;
    const worst = worstStatus(statuses);
    if (!first || !worst) throw new Error("a cache without a watch");
    if (statuses.length === 1) return first;
    const sum = (pick: (status: CacheStatus) => number): number => statuses.reduce((total, status) => total + pick(status), 0);
    return {
      ...first,
      namespace: undefined,
      selection: cache.selection,
      state: worst.state,
      synced: statuses.every((status) => status.synced),
      objects: sum((status) => status.objects),
      unreadable: sum((status) => status.unreadable),
      receivedBytes: sum((status) => status.receivedBytes),
      quietForMs: Math.max(...statuses.map((status) => status.quietForMs)),
    };
  }

  async whenObserved(cache: Cache<unknown>, write: WriteRecord, signal?: AbortSignal): Promise<boolean> {
    const covering = this.#sharedOf(cache).filter((shared) => shared.covers(write, shared.store.get(write.key) !== undefined));
    const shown = await Promise.all(covering.map((shared) => shared.writes.whenObserved(write, signal)));
    return shown.every(Boolean);
  }

  #sharedOf(cache: Cache<unknown>): readonly SharedWatch[] {
    const shared = this.#viewed.get(cache);
    if (!shared) throw new Error(`the cache of ${cache.kind.plural} was not made here`);
    return shared;
  }

  #share(kind: Kind, selection: Selection, wanted: Pick<SharedWatch, "keep" | "sent" | "optional" | "after">): SharedWatch {
    const { keep, sent, optional, after } = wanted;
    const isSame = (shared: SharedWatch): boolean =>
      shared.keep === keep && shared.sent === sent && shared.optional === optional && shared.after === after;
    const found = this.#shared.find((shared) => isSame(shared) && sameKind(shared.kind, kind) && sameSelection(shared.selection, selection));
    if (found) return found;
    const { transport, clock, random, limits } = this.#options;
    const log = this.#options.log.child({ resource: resourceOf(kind), ...selection });
    const store = new Store<unknown>({
      clock,
      onFault: ({ what, key, error }) =>
        error instanceof UnreadableValue
          ? log.error(
              { key, error: error.error, frames: error.frames },
              `${what === "keep" ? "keep" : "an index"} threw: the object cannot be read; what was read of it before stays, and its keys fail until it can be`,
            )
          : log.error({ key, ...safeErrorPlace(error) }, `a cache ${what} threw; the cache goes on`),
    });
    const reflector = new Reflector<unknown>({
      source: watchSource(kind, selection, sent),
      keep: readable(keep),
      deliver: (event) => store.take(event),
      transport,
      clock,
      random,
      log,
      optional,
      ...(limits && { limits }),
    });
    const shared: SharedWatch = {
      kind,
      selection,
      keep,
      sent,
      optional,
      after,
      store,
      reflector,
      writes: new WriteTracker(store),
      covers: coverage({ kind, selection }),
    };
    this.#shared.push(shared);
    if (this.#signal) this.#run(shared, this.#signal);
    return shared;
  }

  #run(shared: SharedWatch, signal: AbortSignal): void {
    const begin = async (): Promise<void> => {
      // Rejects only when the signal aborts, and then there is nothing to run.
      if (shared.after) await shared.after.whenSynced(signal).catch(() => undefined);
      await shared.reflector.run(signal);
    };
    begin().catch((error: unknown) => {
      this.#options.log.error({ err: error, resource: resourceOf(shared.kind) }, "the watch stopped on a fault of the runtime itself");
      // Nothing in the store can throw by design; going on with a cache that is silently stale would be worse than a crash.
      queueMicrotask(() => {
        throw error;
      });
    });
  }
}

/** `keep` as a function that never throws. */
export function readable(keep: Keep): (object: Stored<KubeObject>) => unknown {
  if (!keep) return (object) => object;
  return (object) => {
    try {
      const value = keep(object);
      if (!(value instanceof Promise)) return value;
      // Nobody will wait for it, and a rejection that nobody hears of ends the process.
      value.catch(() => {});
      throw new TypeError("keep must give a value, and not a promise of one");
    } catch (error) {
      return new UnreadableValue("keep", error);
    }
  };
}

function statusOfShared({ kind, selection, keep, sent, optional, store, reflector }: SharedWatch): CacheStatus {
  return {
    resource: resourceOf(kind),
    namespace: selection.namespace,
    selection,
    keep: keep === undefined ? sent : keep.name || "keep",
    state: statusStateOf(reflector.state, kind, selection.namespace),
    synced: store.synced,
    optional,
    objects: store.size,
    unreadable: store.unreadable.size,
    quietForMs: reflector.quietForMs,
    receivedBytes: reflector.receivedBytes,
  };
}

function isSecret({ group, plural }: Kind): boolean {
  return group === "" && plural === "secrets";
}

function sameKind(left: Kind, right: Kind): boolean {
  return left.group === right.group && left.version === right.version && left.plural === right.plural;
}

function sameSelection(left: Selection, right: Selection): boolean {
  return left.namespace === right.namespace && left.labels === right.labels && left.fields === right.fields;
}

// Puts the state of a watch into the words that health checks, logs and people read.

/** The status that `state` stands for. */
function statusStateOf(state: WatchState, kind: Kind, namespace: string | undefined): WatchStatus["state"] {
  const { problem } = state;
  switch (problem?.type) {
    case "missing":
      return { type: "missing" };
    case "forbidden":
      return {
        type: "forbidden",
        rule: `${problem.verb} ${resourceOf(kind)} ${namespace === undefined ? "in the cluster" : `in namespace ${namespace}`}`,
      };
    case "failing":
      return { type: "retrying", error: problem.error };
    case undefined:
      break;
  }
  switch (state.type) {
    case "idle":
      return { type: "idle" };
    case "streaming":
    case "paging":
      return { type: "syncing" };
    case "watching":
    case "waiting":
    default:
      return { type: "live" };
  }
}

/** Of several statuses the one that needs attention most. */
function worstStatus(statuses: readonly WatchStatus[]): WatchStatus | undefined {
  const rank: Readonly<Record<WatchStatus["state"]["type"], number>> = { forbidden: 5, missing: 4, retrying: 3, idle: 2, syncing: 1, live: 0 };
  return statuses.toSorted((a, b) => rank[b.state.type] - rank[a.state.type])[0];
}
