// A bounded queue that many share: each gets its turn, and whoever fills it loses what is its own.

/** How a queue is shared. */
interface FairQueueOptions<T> {
  /** So many wait at most. */
  readonly most: number;
  /** Whose an item is, such as a namespace's. */
  readonly ownerOf: (item: T) => string;
}

/**
 * Guarantees: items of one owner keep their order; owners take turns; when it is full, what goes is the newest item of an owner who has the most, so that one
 * who has few is neither kept waiting nor pushed out by one who has many.
 */
export class FairQueue<T> {
  readonly #options: FairQueueOptions<T>;
  /** None is empty; in the order in which it is their turn. */
  readonly #waiting = new Map<string, T[]>();
  #size = 0;

  constructor(options: FairQueueOptions<T>) {
    this.#options = options;
  }

  get size(): number {
    return this.#size;
  }

  /** Puts an item in. Returns the one for which there is no room: this or another. */
  push(item: T): T | undefined {
    const owner = this.#options.ownerOf(item);
    const own = this.#waiting.get(owner);
    if (own) own.push(item);
    else this.#waiting.set(owner, [item]);
    this.#size++;
    return this.#size > this.#options.most ? this.#displace() : undefined;
  }

  /** Takes out the item whose turn it is; undefined if there is none. */
  shift(): T | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const [owner, items] = first;
    const item = items.shift();
    this.#size--;
    this.#waiting.delete(owner);
    if (items.length > 0) this.#waiting.set(owner, items);
    return item;
  }

  #displace(): T | undefined {
    let most: readonly [owner: string, items: T[]] | undefined;
    // The last of those who have as many: it is their turn last.
    for (const entry of this.#waiting) if (!most || entry[1].length >= most[1].length) most = entry;
    if (!most) return undefined;
    const [owner, items] = most;
    this.#size--;
    if (items.length === 1) this.#waiting.delete(owner);
    return items.pop();
  }
}
