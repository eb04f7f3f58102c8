// The pending timers of a virtual clock: a binary heap, so that thousands of timers, most of them cancelled before they fire, cost little.
import type { Timer } from "../clock.ts";

/** A timer in the heap. */
export interface HeapTimer extends Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

interface Entry extends HeapTimer {
  readonly sequence: number;
  cancelled: boolean;
}

/** Below this the heap is not worth rebuilding. */
const smallestRebuild = 64;

/** Timers ordered by due time, then by the order in which they were added. A cancelled timer is never returned. */
export class TimerHeap {
  #entries: Entry[] = [];
  #cancelled = 0;
  #sequence = 0;

  add(dueMs: number, fire: () => void): HeapTimer {
    const entry: Entry = {
      dueMs,
      fire,
      sequence: this.#sequence++,
      cancelled: false,
      cancel: () => {
        if (entry.cancelled) return;
        entry.cancelled = true;
        this.#cancelled += 1;
        this.#rebuildIfMostlyCancelled();
      },
    };
    this.#entries.push(entry);
    this.#rise(this.#entries.length - 1);
    return entry;
  }

  /** The timer that is due first, left in place: cancel it to take it out. */
  peek(): HeapTimer | undefined {
    for (let first = this.#entries[0]; first; first = this.#entries[0]) {
      if (!first.cancelled) return first;
      this.#cancelled -= 1;
      this.#removeFirst();
    }
    return undefined;
  }

  /** How many timers wait. */
  get size(): number {
    return this.#entries.length - this.#cancelled;
  }

  #removeFirst(): void {
    const last = this.#entries.pop();
    if (!last || this.#entries.length === 0) return;
    this.#entries[0] = last;
    this.#sink(0);
  }

  #rebuildIfMostlyCancelled(): void {
    if (this.#entries.length < smallestRebuild || this.#cancelled * 2 < this.#entries.length) return;
    // A sorted array is a heap.
    this.#entries = this.#entries.filter((entry) => !entry.cancelled).sort((left, right) => (isEarlier(left, right) ? -1 : 1));
    this.#cancelled = 0;
  }

  #rise(from: number): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfEarlier(index, parent)) return;
      index = parent;
    }
  }

  #sink(from: number): void {
    let index = from;
    for (;;) {
      const left = index * 2 + 1;
      const right = left + 1;
      const leftEntry = this.#entries[left];
      const rightEntry = this.#entries[right];
      const child = leftEntry && rightEntry && isEarlier(rightEntry, leftEntry) ? right : left;
      if (!this.#swapIfEarlier(child, index)) return;
      index = child;
    }
  }

  /** Puts the entry at `lower` in the place of the one at `upper` if it is due before it. */
  #swapIfEarlier(lower: number, upper: number): boolean {
    const below = this.#entries[lower];
    const above = this.#entries[upper];
    if (!below || !above || !isEarlier(below, above)) return false;
    this.#entries[upper] = below;
    this.#entries[lower] = above;
    return true;
  }
}

function isEarlier(left: Entry, right: Entry): boolean {
  return left.dueMs < right.dueMs || (left.dueMs === right.dueMs && left.sequence < right.sequence);
}
