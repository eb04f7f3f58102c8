// A map that forgets what was not used for longest when it gets too big.

/** A bounded map in the order of use. */
export class LruMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #most: number;

  /** Holds at most `most` entries. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The value, which now counts as just used. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#most) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  entries(): IterableIterator<[K, V]> {
    return this.#entries.entries();
  }

  values(): IterableIterator<V> {
    return this.#entries.values();
  }

  get size(): number {
    return this.#entries.size;
  }
}
