// A store as controllers see it: one `watch` call's view, with the indexes that this call declared.
import type { Selection } from "../client/client.ts";
import type { Kind } from "../client/kind.ts";
import type { ObjectKey } from "../client/object.ts";
import { nameOf } from "../client/object.ts";
import type { Cache, Change, DeepReadonly, SubscribeOptions } from "./cache.ts";
import type { Store } from "./store.ts";
import type { IndexFunction } from "./table.ts";

/** What a view is of. */
export interface StoreCacheOptions<V> {
  readonly kind: Kind;
  readonly selection: Selection;
  readonly store: Store<V>;
  readonly indexes: Readonly<Record<string, IndexFunction<V>>>;
}

/** A view of a store that others may share; index names are this view's own. */
export class StoreCache<V> implements Cache<V> {
  readonly kind: Kind;
  readonly selection: Selection;
  readonly #store: Store<V>;
  readonly #indexes: ReadonlyMap<string, IndexFunction<V>>;

  constructor({ kind, selection, store, indexes }: StoreCacheOptions<V>) {
    this.kind = kind;
    this.selection = selection;
    this.#store = store;
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
    return this.#store.get(key)?.value;
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
