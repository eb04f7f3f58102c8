// Caches made of others: one `watch` call's view of a store, and several namespaces as one.
import type { Selection } from "../client/client.ts";
import { type Kind, nameOf, type ObjectKey } from "../client/kind.ts";
import { UnreadableError } from "../controller/failure.ts";
import type { Cache, Change, DeepReadonly, SubscribeOptions, UnreadableObjects } from "./cache.ts";
import type { IndexFunction, Store } from "./store.ts";

/** What a view is of. */
interface StoreCacheOptions<V> {
  readonly kind: Kind;
  readonly selection: Selection;
  readonly store: Store<V>;
  readonly indexes: Readonly<Record<string, IndexFunction<V>>>;
  readonly unreadable: "absent" | "error";
  readonly holds: Holding;
}

/** What a cache has of each object. */
type Holding = "whole" | "metadata" | "kept";

/** A view of a store that others may share; index names are this view's own. */
export class StoreCache<V> implements Cache<V> {
  readonly kind: Kind;
  readonly selection: Selection;
  readonly #store: Store<V>;
  readonly #indexes: ReadonlyMap<string, IndexFunction<V>>;
  readonly #throws: boolean;
  readonly unreadable: UnreadableObjects;
  readonly holds: Holding;

  constructor({ kind, selection, store, indexes, unreadable, holds }: StoreCacheOptions<V>) {
    this.kind = kind;
    this.selection = selection;
    this.#store = store;
    this.holds = holds;
    this.#throws = unreadable === "error";
    this.unreadable = {
      get: (key) => store.unreadable.get(key),
      keys: () => store.unreadable.keys(),
      subscribe: (listener) => store.onUnreadable(listener),
    };
    this.#indexes = new Map(Object.entries(indexes));
    for (const index of this.#indexes.values()) store.addIndex(index);
  }

  get size(): number {
    return this.#store.size;
  }

  get synced(): boolean {
    return this.#store.synced;
  }

  get(key: ObjectKey): DeepReadonly<V> | undefined {
    const entry = this.#store.get(key);
    const unreadable = entry || !this.#throws ? undefined : this.#store.unreadable.get(key);
    if (unreadable) throw new UnreadableError(this.kind, key, unreadable.error);
    return entry?.value;
  }

  identity(key: ObjectKey): { readonly uid: string; readonly resourceVersion: string } | undefined {
    return this.#store.get(key);
  }

  *entries(namespace?: string): IterableIterator<readonly [ObjectKey, DeepReadonly<V>]> {
    if (namespace === undefined) {
      for (const [key, { value }] of this.#store.entries()) yield [key, value];
      return;
    }
    // An index over all objects, made when the first one asks.
    this.#store.addIndex(byNamespace);
    for (const key of this.#store.keysUnder(byNamespace, namespace)) {
      const entry = this.#store.get(key);
      if (entry) yield [key, entry.value];
    }
  }

  byIndex(index: string, value: string): readonly ObjectKey[] {
    const of = this.#indexes.get(index);
    if (!of) throw new Error(`the cache of ${this.kind.plural} has no index ${JSON.stringify(index)}: declare it in the options of watch`);
    return [...this.#store.keysUnder(of, value)];
  }

  whenSynced(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (this.#store.synced) return resolve();
      const onAbort = (): void => {
        stop();
        reject(signal?.reason);
      };
      const stop = this.#store.onMove(() => {
        if (!this.#store.synced) return;
        stop();
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  subscribe(listener: (change: Change<V>) => void, options?: SubscribeOptions): () => void {
    return this.#store.subscribe(listener, options);
  }
}

function byNamespace(_: unknown, key: ObjectKey): readonly string[] {
  return [nameOf(key).namespace ?? ""];
}

// Several caches of one kind as one, for an operator that is limited to some namespaces.

/** A cache of one namespace. */
type Part<V> = Cache<V> & { readonly holds?: Holding };

/** The union of caches that share no object, such as one per namespace. */
export class UnionCache<V> implements Cache<V> {
  readonly kind: Kind;
  readonly selection: Selection;
  readonly parts: readonly Part<V>[];

  /** `selection` is what the parts have in common. At least one part. */
  constructor(parts: readonly Part<V>[], selection: Selection) {
    const [first] = parts;
    if (!first) throw new Error("a union of caches needs at least one cache");
    this.kind = first.kind;
    this.selection = selection;
    this.parts = parts;
  }

  get holds(): Holding {
    return this.parts[0]?.holds ?? "kept";
  }

  get size(): number {
    return this.parts.reduce((sum, part) => sum + part.size, 0);
  }

  get synced(): boolean {
    return this.parts.every((part) => part.synced);
  }

  get(key: ObjectKey): DeepReadonly<V> | undefined {
    return this.#holding(key)?.get(key);
  }

  identity(key: ObjectKey): { readonly uid: string; readonly resourceVersion: string } | undefined {
    return this.#holding(key)?.identity(key);
  }

  *entries(namespace?: string): IterableIterator<readonly [ObjectKey, DeepReadonly<V>]> {
    for (const part of this.parts) yield* part.entries(namespace);
  }

  byIndex(index: string, value: string): readonly ObjectKey[] {
    return this.parts.flatMap((part) => part.byIndex(index, value));
  }

  async whenSynced(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.parts.map((part) => part.whenSynced(signal)));
  }

  subscribe(listener: (change: Change<V>) => void, options?: SubscribeOptions): () => void {
    const stops = this.parts.map((part) => part.subscribe(listener, options));
    return () => {
      for (const stop of stops) stop();
    };
  }

  get unreadable(): UnreadableObjects {
    const { parts } = this;
    return {
      get: (key) => parts.map((part) => part.unreadable?.get(key)).find((object) => object !== undefined),
      keys: () => parts.flatMap((part) => [...(part.unreadable?.keys() ?? [])]),
      subscribe(listener) {
        const stops = parts.map((part) => part.unreadable?.subscribe(listener));
        return () => stops.forEach((stop) => stop?.());
      },
    };
  }

  /** What no part can read is for the one that knows of it to say. */
  #holding(key: ObjectKey): Part<V> | undefined {
    return this.parts.find((part) => part.identity(key) !== undefined || part.unreadable?.get(key) !== undefined);
  }
}
