// When something is due, by key, and the earliest of these times.
import { type HeapItem, IndexedHeap } from "@keyturn/runtime";

interface Due extends HeapItem {
  dueMs: number;
}

/** Holds a time for each key for which something is due. Idle keys cost nothing, and a change costs the logarithm of how many there are. */
export class DueTimes {
  readonly #times = new Map<string, Due>();
  readonly #order = new IndexedHeap<Due>((a, b) => a.dueMs < b.dueMs);

  /** The earliest time; undefined if nothing is due. */
  get earliestMs(): number | undefined {
    return this.#order.peek()?.dueMs;
  }

  /** Says when something is due for a key; undefined for never. */
  set(key: string, dueMs: number | undefined): void {
    const due = this.#times.get(key);
    if (dueMs === undefined) {
      if (due) this.#order.remove(due);
      this.#times.delete(key);
    } else if (due) {
      due.dueMs = dueMs;
      this.#order.update(due);
    } else {
      const added = { dueMs, position: -1 };
      this.#times.set(key, added);
      this.#order.push(added);
    }
  }
}
