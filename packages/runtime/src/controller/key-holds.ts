// Keys that must not run yet, and what each of them waits for.

/** Holds keys back until everything they wait for has happened. */
export class KeyHolds {
  readonly #holds = new Map<string, Set<Promise<void>>>();

  /** How many keys are held. */
  get size(): number {
    return this.#holds.size;
  }

  /** Holds the key until `settled` is settled, in addition to what it already waits for. The outcome does not matter. */
  hold(key: string, settled: Promise<unknown>): void {
    const waits = this.#holds.get(key) ?? new Set();
    this.#holds.set(key, waits);
    const over = (): void => {
      waits.delete(wait);
      if (waits.size === 0) this.#holds.delete(key);
    };
    const wait: Promise<void> = settled.then(over, over);
    waits.add(wait);
  }

  /** Undefined if the key is free, else a promise of that. */
  whenFree(key: string): Promise<void> | undefined {
    return this.#holds.has(key) ? this.#freed(key) : undefined;
  }

  async #freed(key: string): Promise<void> {
    for (let waits = this.#holds.get(key); waits; waits = this.#holds.get(key)) await Promise.all(waits);
  }
}
