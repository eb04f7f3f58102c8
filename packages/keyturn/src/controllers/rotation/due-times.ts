// When something is due, by key, and the earliest of these times.

/** Holds a time for each key for which something is due. Idle keys cost nothing. */
export class DueTimes {
  readonly #times = new Map<string, number>();
  #earliestMs: number | undefined;

  /** The earliest time; undefined if nothing is due. */
  get earliestMs(): number | undefined {
    return this.#earliestMs;
  }

  /** Says when something is due for a key; undefined for never. */
  set(key: string, dueMs: number | undefined): void {
    const before = this.#times.get(key);
    if (dueMs === undefined) this.#times.delete(key);
    else this.#times.set(key, dueMs);
    if (dueMs !== undefined && dueMs <= (this.#earliestMs ?? dueMs)) this.#earliestMs = dueMs;
    // Only if the earliest itself moved back or went is there another one to be looked for.
    else if (before !== undefined && before === this.#earliestMs) this.#earliestMs = this.#findEarliest();
  }

  #findEarliest(): number | undefined {
    let earliestMs: number | undefined;
    for (const dueMs of this.#times.values()) if (earliestMs === undefined || dueMs < earliestMs) earliestMs = dueMs;
    return earliestMs;
  }
}
