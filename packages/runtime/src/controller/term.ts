// One term of leadership: workers, blocked keys.

// The right to act on a controller's keys, for as long as it lasts: a held Lease, or the life of a process without election.

/**
 * A time during which keys may be worked on.
 *
 * `isValid` is the truth; the signals follow it as soon as the event loop turns. A process that was stopped and continued therefore asks
 * `isValid` before it acts and does not rely on a timer that should have fired while it stood still.
 */
export interface Term {
  /** Aborts when no new run may start; those under way may end. */
  readonly drain: AbortSignal;
  /** Aborts when everything must stop at once. */
  readonly signal: AbortSignal;
  /** False as soon as the right has run out. */
  isValid(): boolean;
}

/** Why a run's signal aborted or a write was refused: the controller may no longer act here. */
export class TermEndedError extends Error {
  readonly code = "TermEnded";
  constructor(message: string) {
    super(message);
    this.name = "TermEndedError";
  }
}

// Keys that must not run yet, and what each of them waits for.

/** Holds keys back until everything they wait for has happened. */
export class BlockedKeys {
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
