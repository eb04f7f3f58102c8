// What makes a controller's keys run: changes of its caches, and keys it asks for itself.
import type { Cache, Change, DeepReadonly } from "../cache/cache.ts";
import type { ObjectKey, ObjectMeta } from "../client/kind.ts";
import type { Logger } from "../observe/logger.ts";
import { initialListPriority } from "../queue/work-queue.ts";
import type { AddOptions } from "../queue/work-queue.ts";
import { safeErrorSummary } from "../observe/redaction.ts";
import { UnreadableError } from "./failure.ts";
import { isSame } from "./stored-form.ts";

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

/** A cache, and the keys that its changes concern. */
interface TriggerSource<V> {
  readonly cache: Cache<V>;
  /** Default: the object's own key. */
  readonly keysOf?: (change: Change<V>) => readonly ObjectKey[];
  /** Which changes count. Default: all. */
  readonly when?: (change: Change<V>) => boolean;
}

/** What the object was before the change, and what it is after: for triggers that must reach whom it concerned and whom it concerns. */
export function statesOf<V>(change: Change<V>): readonly DeepReadonly<V>[] {
  return [...("previous" in change ? [change.previous] : []), ...("value" in change ? [change.value] : [])];
}

// Changes that count, for `trigger`. What appears, goes or is made anew always does.

/** As much of an object as says what kind of change it was. */
interface WithMetadata {
  readonly metadata: Pick<ObjectMeta, "generation" | "labels" | "annotations" | "deletionTimestamp">;
}

/** The spec has changed, or the object is to go: not its status, labels or annotations. For kinds that have a generation. */
export function generationChanged(change: Change<WithMetadata>): boolean {
  if (change.type !== "updated") return true;
  const [before, after] = [change.previous.metadata, change.value.metadata];
  return before.generation !== after.generation || before.deletionTimestamp !== after.deletionTimestamp;
}

/** Labels have changed. */
export function labelsChanged(change: Change<WithMetadata>): boolean {
  return change.type !== "updated" || !isSame(change.previous.metadata.labels ?? {}, change.value.metadata.labels ?? {});
}

/** Annotations have changed. */
export function annotationsChanged(change: Change<WithMetadata>): boolean {
  return change.type !== "updated" || !isSame(change.previous.metadata.annotations ?? {}, change.value.metadata.annotations ?? {});
}

/** The object of the cache that keeps a key from being run, because nobody can read it. */
export type UnreadableFor = (key: ObjectKey) => UnreadableError | undefined;

/** Says of each key whether an object that concerns it cannot be read. Costs nothing while all can, and little where keys are the cache's own. */
export function unreadableFor<V>(source: TriggerSource<V>): UnreadableFor {
  const { cache, keysOf } = source;
  return (key) => {
    for (const object of keysOf ? (cache.unreadable?.keys() ?? []) : [key]) {
      const unreadable = cache.unreadable?.get(object);
      if (unreadable && keysOfUnreadable(source, object).includes(key)) return new UnreadableError(cache.kind, object, unreadable.error);
    }
    return undefined;
  };
}

/** Those that its last state concerned. Of one that never had any only its own key is known, and that only where keys are the cache's. */
function keysOfUnreadable<V>({ cache, keysOf }: TriggerSource<V>, key: ObjectKey): readonly ObjectKey[] {
  if (!keysOf) return [key];
  if (!cache.identity(key)) return [];
  const value = cache.get(key);
  try {
    return value === undefined ? [] : keysOf({ type: "updated", key, value, previous: value });
  } catch {
    // Said when the trigger heard of it.
    return [];
  }
}

/** The states of a change one by one, as if the one had gone and the other appeared. */
function partsOf<V>(change: Change<V>): readonly Change<V>[] {
  const { key } = change;
  return [
    ...("previous" in change ? [{ type: "deleted", key, previous: change.previous } as const] : []),
    ...("value" in change ? [{ type: "added", key, value: change.value, initial: false } as const] : []),
  ];
}

/**
 * Makes a trigger. What `when` and `keysOf` throw is logged: a change that `when` cannot judge counts, and of one whose keys cannot be told, those of each of
 * its states that can be read are woken. Otherwise an object that could not be read before would not be seen to have become well.
 */
export function cacheTrigger<V>(source: TriggerSource<V>, log: Logger): Trigger {
  const { cache, keysOf = (change: Change<V>) => [change.key], when = () => true } = source;
  const failed = (change: Change<V>, error: unknown, what: string): void =>
    log.error({ kind: cache.kind.kind, object: change.key, change: change.type, ...safeErrorSummary(error) }, what);
  const counts = (change: Change<V>): boolean => {
    try {
      return when(change);
    } catch (error) {
      failed(change, error, "a trigger could not tell whether a change counts; it counts");
      return true;
    }
  };
  const keysFor = (change: Change<V>): readonly ObjectKey[] => {
    try {
      // Taken apart here: what the types promise to be a list may be none.
      return [...keysOf(change)];
    } catch (error) {
      const parts = partsOf(change);
      if (parts.length > 1) return parts.flatMap(keysFor);
      failed(change, error, "a trigger could not name the keys of an object; they run only when something else changes");
      return [];
    }
  };
  return (enqueueChanged) => {
    const hearUnreadable = (object: ObjectKey, enqueue = enqueueChanged): void => {
      for (const key of keysOfUnreadable(source, object)) enqueue(key, {});
    };
    const hear = (change: Change<V>, enqueue = enqueueChanged): void => {
      const priority = change.type === "added" && change.initial ? initialListPriority : 0;
      if (counts(change)) for (const key of keysFor(change)) enqueue(key, { priority });
    };
    function* replay(enqueue: Enqueue): Generator<void> {
      for (const [key, value] of cache.entries()) yield hear({ type: "added", key, value, initial: true }, enqueue);
      for (const key of cache.unreadable?.keys() ?? []) yield hearUnreadable(key, enqueue);
    }
    const stops = [cache.subscribe((change) => hear(change), { replay: false }), cache.unreadable?.subscribe((key) => hearUnreadable(key))];
    return { replay, stop: () => stops.forEach((stop) => stop?.()) };
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
