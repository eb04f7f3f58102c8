// Changes that come close together are one: how long after a change a restart for it waits.
import type { Clock, ObjectKey } from "@keyturn/runtime";

interface Changes {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** What changes again and again is not waited for longer than so many times its settling time. */
const patience = 10;
const maxKept = 10_000;

/** The latest changes, on the monotonic scale. */
export class Settling {
  readonly #changes = new Map<ObjectKey, Changes>();
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #settleMs: number;

  constructor(clock: Pick<Clock, "monotonic">, settleMs: number) {
    this.#clock = clock;
    this.#settleMs = settleMs;
  }

  changed(source: ObjectKey): void {
    const nowMs = this.#clock.monotonic();
    const known = this.#changes.get(source);
    this.#changes.delete(source);
    const isSettled = !known || nowMs >= this.#settledMs(known);
    this.#changes.set(source, { firstMs: isSettled ? nowMs : known.firstMs, lastMs: nowMs });
    const [oldest] = this.#changes.keys();
    if (this.#changes.size > maxKept && oldest !== undefined) this.#changes.delete(oldest);
  }

  /** How much longer changes of these are collected; 0 if they are settled. */
  settlesInMs(sources: readonly ObjectKey[]): number {
    const nowMs = this.#clock.monotonic();
    const times = sources.flatMap((source) => {
      const known = this.#changes.get(source);
      if (!known) return [];
      return [this.#settledMs(known) - nowMs];
    });
    return Math.max(0, ...times);
  }

  #settledMs({ firstMs, lastMs }: Changes): number {
    return Math.min(lastMs + this.#settleMs, firstMs + patience * this.#settleMs);
  }
}
