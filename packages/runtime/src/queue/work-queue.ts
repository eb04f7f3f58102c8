// The keys that are to be reconciled: each once, each by one run at a time, in order of urgency, some not before a certain time.
import type { Clock, Timer } from "../clock.ts";
import { type HeapItem, IndexedHeap } from "../collections.ts";

/** The priority of keys from an initial list, so that they yield to live changes (0). The value is controller-runtime's `LowPriority`. */
export const initialListPriority = -100;

/** As long as the shortest backoff: what is to come again sooner would keep a worker busy with one key. */
const minDelayMs = 10;
/** Ten years. Longer delays are mistakes, or mean "never", which is what no delay at all is for. */
const maxDelayMs = 10 * 365 * 24 * 3_600_000;
/** What a delay counts as that is no number above zero: it says nothing, and whoever computed it may do so again at once. */
const unclearDelayMs = 1_000;

/** How to add a key. */
export interface AddOptions {
  /** Higher runs first; default 0, which is also what counts for what is no number. */
  readonly priority?: number;
  /** Not before that long from now; see `clampedDelayMs` for what is taken. Default: at once. */
  readonly afterMs?: number;
}

/** The delay that an asked one counts as: from 10 ms to ten years, and a second for zero, for less and for what is no number. */
export function clampedDelayMs(askedMs: unknown): number {
  return typeof askedMs === "number" && askedMs > 0 ? Math.min(Math.max(askedMs, minDelayMs), maxDelayMs) : unclearDelayMs;
}

/** True for delays that nobody means; short ones are only rounded up. */
function isOddDelay(askedMs: unknown): boolean {
  return !(typeof askedMs === "number" && askedMs > 0 && askedMs <= maxDelayMs);
}

/** A key that was handed out. */
export interface TakenKey {
  readonly key: string;
  readonly priority: number;
  /** How long it was ready and waited for a worker. */
  readonly queuedMs: number;
}

/** What the queue needs, and what it reports. */
interface WorkQueueOptions {
  readonly clock: Clock;
  /** Called whenever a key has become ready to be taken; it may be called again before that key is taken. */
  readonly onReady: () => void;
  /** Called when a key enters the queue that was not in it, or was only delayed. */
  readonly onAdded?: () => void;
  /** Called with a delay that is zero, negative, too long or no number, and with what it counts as. */
  readonly onOddDelay?: (key: string, askedMs: number, delayMs: number) => void;
}

interface Entry extends HeapItem {
  readonly key: string;
  priority: number;
  dueMs: number;
  sequence: number;
}

/**
 * A deduplicating, delaying priority queue of keys.
 *
 * Guarantees: a key that was taken is not handed out again before `done`; one added meanwhile is handed out once more afterwards. Of several
 * adds of one key the earliest time and the highest priority count; an add without delay supersedes a delayed one. Keys of one priority
 * leave in the order in which they became ready. Every operation is O(log n), and one timer serves all delays.
 *
 * Caveat: priorities are strict. Keys of a low priority wait as long as there are ready ones of a higher.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #onReady: () => void;
  readonly #onAdded: () => void;
  readonly #onOddDelay: NonNullable<WorkQueueOptions["onOddDelay"]>;
  /** Keys that are ready or delayed, and not running. */
  readonly #entries = new Map<string, Entry>();
  readonly #ready = new IndexedHeap<Entry>((a, b) => (a.priority === b.priority ? a.sequence < b.sequence : a.priority > b.priority));
  readonly #delayed = new IndexedHeap<Entry>((a, b) => (a.dueMs === b.dueMs ? a.sequence < b.sequence : a.dueMs < b.dueMs));
  /** Keys that were taken, each with what was added for it since. */
  readonly #taken = new Map<string, Entry | undefined>();
  #sequence = 0;
  #timer: { readonly dueMs: number; readonly timer: Timer } | undefined;
  #closed = false;

  constructor({ clock, onReady, onAdded = () => {}, onOddDelay = () => {} }: WorkQueueOptions) {
    this.#clock = clock;
    this.#onReady = onReady;
    this.#onAdded = onAdded;
    this.#onOddDelay = onOddDelay;
  }

  /** Keys that could be taken now. */
  get readyCount(): number {
    this.#promote();
    return this.#ready.size;
  }

  /** Keys that wait for their time. */
  get delayedCount(): number {
    this.#promote();
    return this.#delayed.size;
  }

  /** Asks for a run of the key. Does nothing once the queue is closed. */
  add(key: string, { priority: asked = 0, afterMs }: AddOptions = {}): void {
    if (this.#closed) return;
    this.#promote();
    // Neither above nor below another, it would upset the order of all.
    const priority = Number.isNaN(asked) ? 0 : asked;
    const nowMs = this.#clock.monotonic();
    const dueMs = nowMs + (afterMs === undefined ? 0 : this.#delayMs(key, afterMs));
    if (this.#taken.has(key)) {
      const again = this.#taken.get(key);
      if (again) merge(again, dueMs, priority);
      else this.#taken.set(key, this.#entry(key, dueMs, priority));
      return;
    }
    const entry = this.#entries.get(key);
    if (!entry) return this.#enter(this.#entry(key, dueMs, priority));
    merge(entry, dueMs, priority);
    if (this.#ready.has(entry)) return this.#ready.update(entry);
    if (entry.dueMs > nowMs) {
      this.#delayed.update(entry);
      return this.#arm();
    }
    this.#delayed.remove(entry);
    this.#enter(entry);
  }

  /** Hands out the most urgent key that is ready; `done` must follow. */
  take(): TakenKey | undefined {
    this.#promote();
    const entry = this.#ready.pop();
    if (!entry) return undefined;
    this.#entries.delete(entry.key);
    this.#taken.set(entry.key, undefined);
    return { key: entry.key, priority: entry.priority, queuedMs: this.#clock.monotonic() - entry.dueMs };
  }

  /** The key may be handed out again; at once, if it was added since it was taken. */
  done(key: string): void {
    const again = this.#taken.get(key);
    this.#taken.delete(key);
    if (again && !this.#closed) this.#enter(again);
  }

  /** Drops every key that is not running and takes no more. */
  close(): void {
    this.#closed = true;
    this.#timer?.timer.cancel();
    this.#timer = undefined;
    this.#entries.clear();
    while (this.#ready.pop());
    while (this.#delayed.pop());
  }

  /** One delay that is no number would never be due, and hold up every other: a heap cannot order it. */
  #delayMs(key: string, askedMs: number): number {
    const delayMs = clampedDelayMs(askedMs);
    if (isOddDelay(askedMs)) this.#onOddDelay(key, askedMs, delayMs);
    return delayMs;
  }

  #entry(key: string, dueMs: number, priority: number): Entry {
    return { key, dueMs, priority, sequence: this.#sequence++, position: -1 };
  }

  #enter(entry: Entry): void {
    this.#entries.set(entry.key, entry);
    if (entry.dueMs <= this.#clock.monotonic()) return this.#makeReady(entry);
    this.#delayed.push(entry);
    this.#arm();
  }

  #makeReady(entry: Entry): void {
    entry.sequence = this.#sequence++;
    this.#ready.push(entry);
    this.#onAdded();
    this.#onReady();
  }

  /** Moves what has fallen due from delayed to ready. */
  #promote(): void {
    const nowMs = this.#clock.monotonic();
    for (let first = this.#delayed.peek(); first && first.dueMs <= nowMs; first = this.#delayed.peek()) {
      this.#delayed.remove(first);
      this.#makeReady(first);
    }
  }

  /** Keeps one timer, for the earliest delay. One that has become too early only wakes us for nothing. */
  #arm(): void {
    const first = this.#delayed.peek();
    if (!first || (this.#timer && this.#timer.dueMs <= first.dueMs)) return;
    this.#timer?.timer.cancel();
    const timer = this.#clock.setTimer(first.dueMs - this.#clock.monotonic(), () => {
      this.#timer = undefined;
      this.#promote();
      this.#arm();
    });
    this.#timer = { dueMs: first.dueMs, timer };
  }
}

function merge(entry: Entry, dueMs: number, priority: number): void {
  entry.dueMs = Math.min(entry.dueMs, dueMs);
  entry.priority = Math.max(entry.priority, priority);
}
