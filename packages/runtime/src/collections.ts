// Collections that the language lacks: a heap, and a map that forgets.

// A binary heap whose items know their place, so that one can be moved or taken out in O(log n).

/** What the heap keeps in each item. Minus one while the item is in no heap. */
export interface HeapItem {
  position: number;
}

/** The least item first, by `before`. An item is in at most one heap at a time. */
export class IndexedHeap<T extends HeapItem> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  has(item: T): boolean {
    return this.#items[item.position] === item;
  }

  push(item: T): void {
    this.#items.push(item);
    item.position = this.#items.length - 1;
    this.#rise(item);
  }

  pop(): T | undefined {
    const first = this.#items[0];
    if (first) this.remove(first);
    return first;
  }

  /** Takes the item out; it must be in this heap. */
  remove(item: T): void {
    const last = this.#items.pop();
    if (last && last !== item) {
      this.#put(last, item.position);
      this.update(last);
    }
    item.position = -1;
  }

  /** Restores the order after the item's rank has changed. */
  update(item: T): void {
    this.#rise(item);
    this.#sink(item);
  }

  #put(item: T, position: number): void {
    this.#items[position] = item;
    item.position = position;
  }

  #rise(item: T): void {
    while (item.position > 0) {
      const parent = this.#items[(item.position - 1) >> 1];
      if (!parent || !this.#before(item, parent)) return;
      this.#swap(item, parent);
    }
  }

  #sink(item: T): void {
    for (;;) {
      const left = this.#items[2 * item.position + 1];
      const right = this.#items[2 * item.position + 2];
      const least = left && right && this.#before(right, left) ? right : left;
      if (!least || !this.#before(least, item)) return;
      this.#swap(least, item);
    }
  }

  #swap(a: T, b: T): void {
    const position = a.position;
    this.#put(a, b.position);
    this.#put(b, position);
  }
}

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
