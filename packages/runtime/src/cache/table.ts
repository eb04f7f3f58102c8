// One state of a cache: its objects and what its indexes say of them.
import type { ObjectKey } from "../client/object.ts";
import type { DeepReadonly } from "./cache.ts";

/** What is held of one object. */
export interface Entry<V> {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly value: DeepReadonly<V>;
}

/** Gives the values under which an index lists an object. */
export type IndexFunction<V> = (value: DeepReadonly<V>, key: ObjectKey) => readonly string[];

/**
 * One index: the keys under each value, and the values of each key so that it can be taken out again.
 * Most values have one key, and a set of one takes five times the memory of a key.
 */
interface Index {
  readonly keysOf: Map<string, ObjectKey | Set<ObjectKey>>;
  readonly valuesOf: Map<ObjectKey, readonly string[]>;
}

/**
 * Objects by key, with indexes. An index is identified by its function.
 * `onIndexError` hears of an index function that throws; the object is then not in that index.
 */
export class Table<V> {
  readonly #entries = new Map<ObjectKey, Entry<V>>();
  readonly #indexes = new Map<IndexFunction<V>, Index>();
  readonly #onIndexError: (key: ObjectKey, error: unknown) => void;

  constructor(indexes: Iterable<IndexFunction<V>>, onIndexError: (key: ObjectKey, error: unknown) => void) {
    this.#onIndexError = onIndexError;
    for (const index of indexes) this.#indexes.set(index, { keysOf: new Map(), valuesOf: new Map() });
  }

  get size(): number {
    return this.#entries.size;
  }

  get indexes(): Iterable<IndexFunction<V>> {
    return this.#indexes.keys();
  }

  get(key: ObjectKey): Entry<V> | undefined {
    return this.#entries.get(key);
  }

  entries(): IterableIterator<[ObjectKey, Entry<V>]> {
    return this.#entries.entries();
  }

  set(key: ObjectKey, entry: Entry<V>): void {
    this.#entries.set(key, entry);
    for (const [of, index] of this.#indexes) this.#index(of, index, { key, entry });
  }

  delete(key: ObjectKey): void {
    this.#entries.delete(key);
    for (const index of this.#indexes.values()) unindex(index, key);
  }

  /** Adds an index over what is there and what will be; none if it is there already. */
  addIndex(of: IndexFunction<V>): void {
    if (this.#indexes.has(of)) return;
    const index: Index = { keysOf: new Map(), valuesOf: new Map() };
    this.#indexes.set(of, index);
    for (const [key, entry] of this.#entries) this.#index(of, index, { key, entry });
  }

  /** The keys that an added index lists under `value`. */
  keysUnder(of: IndexFunction<V>, value: string): Iterable<ObjectKey> {
    const keys = this.#indexes.get(of)?.keysOf.get(value) ?? [];
    return typeof keys === "string" ? [keys] : keys;
  }

  #index(of: IndexFunction<V>, index: Index, { key, entry }: { readonly key: ObjectKey; readonly entry: Entry<V> }): void {
    unindex(index, key);
    let values: readonly string[];
    try {
      values = of(entry.value, key);
    } catch (error) {
      this.#onIndexError(key, error);
      return;
    }
    if (values.length === 0) return;
    index.valuesOf.set(key, values);
    for (const value of values) {
      const keys = index.keysOf.get(value);
      if (keys === undefined) index.keysOf.set(value, key);
      else if (typeof keys !== "string") keys.add(key);
      else if (keys !== key) index.keysOf.set(value, new Set([keys, key]));
    }
  }
}

function unindex(index: Index, key: ObjectKey): void {
  const values = index.valuesOf.get(key);
  if (!values) return;
  index.valuesOf.delete(key);
  for (const value of values) {
    const keys = index.keysOf.get(value);
    if (typeof keys === "object") keys.delete(key);
    if (keys === key || (typeof keys === "object" && keys.size === 0)) index.keysOf.delete(value);
  }
}
