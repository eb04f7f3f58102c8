// The workers of a controller, shared by everything it has to work on, so that no part starves and the event loop keeps turning.
import type { Clock } from "../clock.ts";

/** Starts one piece of work if there is any; true if it did, and then `release` must follow. */
type StartOne = () => boolean;

/** After this many starts, or this long, other things get their turn: most runs that find nothing to do take about 50 µs each, the first ones more. */
const startsPerTurn = 64;
const turnMs = 3;

/** At most `limit` pieces of work at a time, taken from the sources in turn. */
export class WorkerSlots {
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #sources = new Set<StartOne>();
  #used = 0;
  #startsLeft = startsPerTurn;
  /** When the first start of this turn was; undefined before it. */
  #turnStartMs: number | undefined;
  #waking = false;

  constructor(limit: number, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  get used(): number {
    return this.#used;
  }

  /** Adds a source of work. Returns the way to take it out. */
  join(source: StartOne): () => void {
    this.#sources.add(source);
    return () => void this.#sources.delete(source);
  }

  /** Says that a source may have work. Nothing starts before the caller is done. */
  wake(): void {
    if (this.#waking) return;
    this.#waking = true;
    queueMicrotask(() => {
      this.#waking = false;
      this.#fill();
    });
  }

  /** A piece of work is over. */
  release(): void {
    this.#used--;
    this.wake();
  }

  #fill(): void {
    let idleSources = 0;
    while (this.#used < this.#limit && idleSources < this.#sources.size) {
      if (this.#isTurnOver()) return;
      const [source] = this.#sources;
      if (!source) return;
      // Whoever had its turn goes to the end of the line.
      this.#sources.delete(source);
      this.#sources.add(source);
      if (!source()) {
        idleSources++;
        continue;
      }
      idleSources = 0;
      this.#used++;
      this.#startsLeft--;
      this.#refillNextTurn();
    }
  }

  #isTurnOver(): boolean {
    if (this.#turnStartMs === undefined) return false;
    return this.#startsLeft === 0 || this.#clock.monotonic() - this.#turnStartMs >= turnMs;
  }

  #refillNextTurn(): void {
    if (this.#turnStartMs !== undefined) return;
    this.#turnStartMs = this.#clock.monotonic();
    this.#clock.setTimer(0, () => {
      this.#turnStartMs = undefined;
      this.#startsLeft = startsPerTurn;
      this.wake();
    });
  }
}
