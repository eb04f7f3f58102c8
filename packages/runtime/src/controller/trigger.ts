// What makes a controller's keys run: changes of its caches, and keys it asks for itself.
import type { Cache, Change } from "../cache/cache.ts";
import type { ObjectKey } from "../client/kind.ts";
import type { Logger } from "../observe/logger.ts";
import { initialListPriority } from "../queue/work-queue.ts";
import type { AddOptions } from "../queue/work-queue.ts";
import { safeErrorSummary } from "../observe/redaction.ts";

/** Asks for a run of a key. */
export type Enqueue = (key: ObjectKey, options: AddOptions) => void;

/** A cache whose changes name keys, ready to be listened to any number of times. */
export type Trigger = (enqueue: Enqueue) => Subscription;

/** One who listens to a trigger. */
interface Subscription {
  /** Asks for every key there is, those of one object with each step, so that whoever takes the steps can pause. What changes meanwhile is heard too. */
  readonly replay: (enqueue: Enqueue) => Iterable<void>;
  readonly stop: () => void;
}

/** Makes a trigger. What `keysOf` throws is logged; the keys of that one change are lost, everything else goes on. */
export function cacheTrigger<V>(cache: Cache<V>, keysOf: (change: Change<V>) => readonly ObjectKey[], log: Logger): Trigger {
  return (enqueueChanged) => {
    const hear = (change: Change<V>, enqueue = enqueueChanged): void => {
      const priority = change.type === "added" && change.initial ? initialListPriority : 0;
      try {
        for (const key of keysOf(change)) enqueue(key, { priority });
      } catch (error) {
        const fields = { kind: cache.kind.kind, object: change.key, change: change.type, ...safeErrorSummary(error) };
        log.error(fields, "a trigger could not name the keys of a change; they run only when something else changes");
      }
    };
    function* replay(enqueue: Enqueue): Generator<void> {
      for (const [key, value] of cache.entries()) yield hear({ type: "added", key, value, initial: true }, enqueue);
    }
    return { replay, stop: cache.subscribe((change) => hear(change), { replay: false }) };
  };
}

/**
 * Keys that the controller asked for itself. No cache replays them, so they are remembered while there is nobody to run them,
 * and until a run of theirs succeeds without asking for another.
 */
export class RequestedKeys {
  readonly #dueMs = new Map<ObjectKey, { readonly dueMs: number }>();

  ask(key: ObjectKey, dueMs: number): void {
    this.#dueMs.set(key, { dueMs: Math.min(dueMs, this.#dueMs.get(key)?.dueMs ?? Infinity) });
  }

  /** A token for what is asked for now, to be given to `fulfil` if a run that starts now answers it. */
  current(key: ObjectKey): object | undefined {
    return this.#dueMs.get(key);
  }

  /** The key need not be remembered, unless it was asked for again since. */
  fulfil(key: ObjectKey, token: object | undefined): void {
    if (this.#dueMs.get(key) === token) this.#dueMs.delete(key);
  }

  replay(enqueue: Enqueue, nowMs: number): void {
    for (const [key, { dueMs }] of this.#dueMs) enqueue(key, dueMs > nowMs ? { afterMs: dueMs - nowMs } : {});
  }
}
