// A cache that is filled by one list and never changes: for answering a question about a cluster once, with the same code that follows it.
import {
  type Cache,
  type Change,
  type Client,
  type DeepReadonly,
  type Kind,
  type KubeObject,
  type ObjectKey,
  type Selection,
  type Stored,
  type WatchOptions,
  keyOfObject,
  nameOf,
} from "@keyturn/runtime";

interface Entry<V> {
  readonly value: DeepReadonly<V>;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** See `Cache`. Empty until it is filled. */
export class ListedCache<T extends KubeObject, V> implements Cache<V> {
  readonly kind: Kind<T>;
  readonly selection: Selection;
  readonly #options: WatchOptions<T, V>;
  readonly #entries = new Map<ObjectKey, Entry<V>>();
  readonly #indexes = new Map<string, Map<string, ObjectKey[]>>();

  constructor(kind: Kind<T>, options: WatchOptions<T, V>) {
    const { namespace, labels, fields } = options;
    this.kind = kind;
    this.selection = {
      ...(namespace !== undefined && { namespace }),
      ...(labels !== undefined && { labels }),
      ...(fields !== undefined && { fields }),
    };
    this.#options = options;
  }

  /** Lists what the cache is of; in one namespace only, if it is of all and one is given. */
  async fill(client: Client, namespace: string | undefined, signal: AbortSignal): Promise<void> {
    const where = this.kind.namespaced && namespace !== undefined ? { namespace } : {};
    const { items } = await client.list(this.kind, { ...where, ...this.selection }, signal);
    const { keep } = this.#options;
    for (const item of items) {
      const { uid, resourceVersion } = item.metadata;
      this.#entries.set(keyOfObject(item), { value: kept(item, keep), uid, resourceVersion });
    }
  }

  get size(): number {
    return this.#entries.size;
  }

  get synced(): boolean {
    return true;
  }

  get(key: ObjectKey): DeepReadonly<V> | undefined {
    return this.#entries.get(key)?.value;
  }

  identity(key: ObjectKey): { readonly uid: string; readonly resourceVersion: string } | undefined {
    return this.#entries.get(key);
  }

  *entries(namespace?: string): IterableIterator<readonly [ObjectKey, DeepReadonly<V>]> {
    for (const [key, { value }] of this.#entries) {
      if (namespace === undefined || nameOf(key).namespace === namespace) yield [key, value];
    }
  }

  byIndex(index: string, value: string): readonly ObjectKey[] {
    const known = this.#indexes.get(index) ?? this.#indexed(index);
    this.#indexes.set(index, known);
    return known.get(value) ?? [];
  }

  async whenSynced(): Promise<void> {}

  #indexed(index: string): Map<string, ObjectKey[]> {
    const valuesOf = this.#options.indexes?.[index] ?? (() => []);
    const keys = new Map<string, ObjectKey[]>();
    for (const [key, { value }] of this.#entries) {
      for (const indexed of valuesOf(value, key)) keys.set(indexed, [...(keys.get(indexed) ?? []), key]);
    }
    return keys;
  }

  /** There are no changes to report. */
  subscribe(_listener: (change: Change<V>) => void): () => void {
    return () => {};
  }
}

function kept<T extends KubeObject, V>(item: Stored<T>, keep: ((object: Stored<T>) => V) | undefined): DeepReadonly<V> {
  if (!keep) throw new Error("a listed cache needs a `keep`");
  // Read-only is a promise of the cache, not a form of the value.
  return keep(item) as DeepReadonly<V>;
}
