// Keeps the records up to date: collects what was touched, makes those records anew a few at a time, and hands changes to the store together.
import { setImmediate } from "node:timers/promises";
import type { DashboardRecord } from "@keyturn/dashboard/contract";
import { sleep } from "@keyturn/runtime";
import type { RecordScope, RecordSource } from "../feature/record.ts";
import type { RecordStore } from "./record-store.ts";

// Wakes one who waits, however many reasons there are to.

/** A bell: what is rung while nobody waits is heard by the next who does. */
export class Signal {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
    this.#wake = undefined;
  }

  /** Resolves when it has been rung since the last time. One at a time may wait. */
  async heard(): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#rung = false;
  }
}

/** What the records are kept with. */
interface RecordKeeperOptions extends Omit<RecordScope, "touch"> {
  readonly store: RecordStore;
}

/** Changes that come together are sent together, and nobody sees a shorter delay. */
const collectMs = 100;
/** How long records are made in one go; others get their turn in between. */
const turnMs = 8;
/** How often it is looked whether time has changed anything. */
const lookEveryMs = 1000;

interface Kept {
  readonly source: Pick<RecordSource, "prepare" | "make">;
  readonly touched: Set<string>;
  /** When time alone changes the record of a key. */
  readonly againAtMs: Map<string, number>;
}

/** Keeps the records of its sources in a store. */
export class RecordKeeper {
  readonly #options: RecordKeeperOptions;
  readonly #kept: (Kept & { readonly source: RecordSource })[] = [];
  #steps: Kept | undefined;
  readonly #bell = new Signal();

  constructor(options: RecordKeeperOptions) {
    this.#options = options;
  }

  get sources(): readonly RecordSource[] {
    return this.#kept.map(({ source }) => source);
  }

  /** Adds a source, if there is one for this viewer; its watches are declared at once. */
  add(setUp: (scope: RecordScope) => RecordSource | undefined): void {
    const { source, ...state } = this.#keep((touch) => setUp({ ...this.#options, touch }));
    if (source) this.#kept.push({ source, ...state });
  }

  /** Adds the records about the sources themselves. */
  addStages(setUp: (touch: RecordScope["touch"]) => Pick<RecordSource, "make">): void {
    this.#steps = this.#keep(setUp);
  }

  /** Keeps them until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    signal.addEventListener("abort", () => this.#bell.ring(), { once: true });
    const looking = this.#lookAtTheTime(signal);
    while (!signal.aborted) {
      await this.#bell.heard();
      // Rejects only when the signal aborts, which the loop sees by itself.
      await sleep(clock, collectMs, signal).catch(() => {});
      while (!signal.aborted && this.#turn()) await setImmediate();
    }
    await looking;
  }

  #keep<S>(setUp: (touch: RecordScope["touch"]) => S): Omit<Kept, "source"> & { readonly source: S } {
    const touched = new Set<string>();
    const source = setUp((key) => {
      touched.add(key);
      this.#bell.ring();
    });
    return { source, touched, againAtMs: new Map() };
  }

  #all(): readonly Kept[] {
    return this.#steps ? [this.#steps, ...this.#kept] : this.#kept;
  }

  async #lookAtTheTime(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, lookEveryMs, signal).catch(() => {});
      const nowMs = clock.now();
      for (const { touched, againAtMs } of this.#all()) {
        for (const [key, atMs] of againAtMs) {
          if (atMs > nowMs) continue;
          againAtMs.delete(key);
          touched.add(key);
          this.#bell.ring();
        }
      }
    }
  }

  /** Makes some of the records that were touched. True if there are more. */
  #turn(): boolean {
    const { store, clock, log } = this.#options;
    const nowMs = clock.now();
    const upserts: DashboardRecord[] = [];
    const removals: string[] = [];
    const untilMs = clock.monotonic() + turnMs;
    for (const { source, touched, againAtMs } of this.#all()) {
      if (touched.size === 0) continue;
      source.prepare?.(nowMs);
      for (const key of touched) {
        if (clock.monotonic() > untilMs) break;
        touched.delete(key);
        againAtMs.delete(key);
        try {
          const made = source.make(key, nowMs);
          if (!made) removals.push(key);
          else {
            upserts.push(made.record);
            if (made.againAtMs !== undefined) againAtMs.set(key, made.againAtMs);
          }
        } catch (error) {
          // One object that nobody foresaw must not take the whole page down; what was shown of it stays.
          log.error({ err: error, key }, "could not make the record of an object for the dashboard");
        }
      }
    }
    store.commit(upserts, removals);
    return this.#all().some(({ touched }) => touched.size > 0);
  }
}
