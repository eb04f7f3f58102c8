// Makes and shares the caches of a process: one watch per kind, selection and `keep`, however many controllers want it.
import type { Clock } from "../clock.ts";
import type { Selection } from "../client/client.ts";
import type { Kind } from "../client/kind.ts";
import { resourceOf } from "../client/kind.ts";
import type { KubeObject, Stored } from "../client/object.ts";
import type { Transport } from "../client/transport.ts";
import type { WriteRecord } from "../client/write-record.ts";
import type { Logger } from "../observe/logger.ts";
import type { Random } from "../random.ts";
import { Reflector } from "../watch/reflector.ts";
import { thrownPlace } from "../watch/thrown-place.ts";
import type { WatchLimits } from "../watch/watch-limits.ts";
import { watchSource } from "../watch/watch-source.ts";
import type { Cache, MetadataOnly, MetadataWatchOptions, WatchOptions } from "./cache.ts";
import type { Caches, WatchStatus } from "./caches.ts";
import { Store } from "./store.ts";
import { StoreCache } from "./store-cache.ts";
import { UnionCache } from "./union-cache.ts";
import { statusStateOf, worstStatus } from "./watch-status.ts";
import { WriteSight, coverage } from "./write-sight.ts";

/** What all caches of a process share. */
export interface CachesOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Limits watches of namespaced kinds that name no namespace to these: one watch each, shown as one cache. Default none: the whole cluster. */
  readonly namespaces?: readonly string[];
  /** For tests; see `WatchLimits` for the defaults. */
  readonly limits?: Partial<WatchLimits>;
}

/** How a cache fares and what it costs; two `keep`s of one kind are two of these. */
export interface CacheStatus extends WatchStatus {
  readonly selection: Selection;
  /** `whole`, `metadata`, or the name of the `keep` function. */
  readonly keep: string;
  /** From the server since the start. */
  readonly receivedBytes: number;
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
  readonly writes: WriteSight;
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

  watch<V = Stored<MetadataOnly>>(kind: Kind, options: MetadataWatchOptions<V>): Cache<V>;
  watch<T extends KubeObject, V = Stored<T>>(kind: Kind<T>, options?: WatchOptions<T, V>): Cache<V>;
  watch<T extends KubeObject, V>(kind: Kind<T>, options: WatchOptions<T, V> & { readonly only?: "metadata" } = {}): Cache<V> {
    const { keep, indexes = {}, only: sent = "whole", optional = false, after, ...selection } = options;
    const limits = new Set(kind.namespaced && selection.namespace === undefined ? this.#options.namespaces : []);
    const [first, ...others] = Array.from(limits, (namespace) => this.watch(kind, { ...options, namespace }));
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
    // The one place where the types of kept values are forgotten: a shared watch is found by the very `keep` that made its values.
    const shared = this.#share(kind, selection, { keep: keep as Keep, sent, optional, after });
    const view = new StoreCache<V>({ kind, selection, store: shared.store as Store<V>, indexes });
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
      receivedBytes: sum((status) => status.receivedBytes),
      quietForMs: Math.max(...statuses.map((status) => status.quietForMs)),
    };
  }

  async whenSeen(cache: Cache<unknown>, write: WriteRecord, signal?: AbortSignal): Promise<boolean> {
    const covering = this.#sharedOf(cache).filter((shared) => shared.covers(write, shared.store.get(write.key) !== undefined));
    const shown = await Promise.all(covering.map((shared) => shared.writes.whenShown(write, signal)));
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
      onFault: ({ what, key, error }) => log.error({ key, ...thrownPlace(error) }, `a cache ${what} threw; the cache goes on`),
    });
    const reflector = new Reflector<unknown>({
      source: watchSource(kind, selection, sent),
      keep: keep ?? ((object) => object),
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
      writes: new WriteSight(store),
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
    quietForMs: reflector.quietForMs,
    receivedBytes: reflector.receivedBytes,
  };
}

function sameKind(left: Kind, right: Kind): boolean {
  return left.group === right.group && left.version === right.version && left.plural === right.plural;
}

function sameSelection(left: Selection, right: Selection): boolean {
  return left.namespace === right.namespace && left.labels === right.labels && left.fields === right.fields;
}
