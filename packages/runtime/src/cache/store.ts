// The live copy of a watched kind: turns watch events into objects with indexes, and notifies listeners of what changed.
import { isDeepStrictEqual } from "node:util";
import type { ObjectKey } from "../client/kind.ts";
import { type Clock, sharedTimeSlice } from "../clock.ts";
import { safeErrorPlace } from "../observe/redaction.ts";
import type { WatchEvent } from "../watch/step.ts";
import type { Change, DeepReadonly, SubscribeOptions } from "./cache.ts";

// One state of a cache: its objects and what its indexes say of them.

/** What is held of one object. */
interface Entry<V> {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly value: DeepReadonly<V>;
}

/**
 * Stands in an event for a value that `keep` could not make, or that an index function could not take. The object exists all the same: what is held of it
 * stays, and it is marked.
 */
export class UnreadableValue {
  /** Whose fault it is. */
  readonly what: "keep" | "index";
  /** What was thrown: its name, and never its words, which may quote the object. */
  readonly error: string;
  readonly frames: readonly string[];
  constructor(what: "keep" | "index", thrown: unknown) {
    const { error, frames } = safeErrorPlace(thrown);
    this.what = what;
    this.error = error;
    this.frames = frames;
  }
}

/** An object that exists and that `keep`, or an index function, cannot read. */
export interface UnreadableObject {
  /** The state that cannot be read; what the cache shows, if anything, is an older one. */
  readonly resourceVersion: string;
  /** The name of the error. */
  readonly error: string;
}

/** Gives the values under which an index lists an object. */
export type IndexFunction<V> = (value: DeepReadonly<V>, key: ObjectKey) => readonly string[];

/**
 * One index: the keys under each value, and the values of each key so that it can be taken out again.
 * Most values have one key, and a set of one takes five times the memory of a key.
 */
interface Index {
  readonly keysOf: Map<string, ObjectKey | Set<ObjectKey>>;
  readonly valuesOf: Map<ObjectKey, readonly string[]>;
}

/** Objects by key, with indexes. An index is identified by its function. */
class Table<V> {
  readonly #entries = new Map<ObjectKey, Entry<V>>();
  readonly #unreadable = new Map<ObjectKey, UnreadableObject>();
  readonly #indexes = new Map<IndexFunction<V>, Index>();

  constructor(indexes: Iterable<IndexFunction<V>>) {
    for (const index of indexes) this.#indexes.set(index, { keysOf: new Map(), valuesOf: new Map() });
  }

  get size(): number {
    return this.#entries.size;
  }

  get indexes(): Iterable<IndexFunction<V>> {
    return this.#indexes.keys();
  }

  get(key: ObjectKey): Entry<V> | undefined {
    return this.#entries.get(key);
  }

  entries(): IterableIterator<[ObjectKey, Entry<V>]> {
    return this.#entries.entries();
  }

  /** Objects that cannot be read, whether or not there is an older entry of them. */
  get unreadable(): ReadonlyMap<ObjectKey, UnreadableObject> {
    return this.#unreadable;
  }

  /** What there is of the object stays. */
  markUnreadable(key: ObjectKey, object: UnreadableObject): void {
    this.#unreadable.set(key, object);
  }

  /** Nothing changes if one of the index functions throws: an object that an index lacks would look like one that is gone. */
  set(key: ObjectKey, entry: Entry<V>): UnreadableValue | undefined {
    const indexed: (readonly string[])[] = [];
    try {
      for (const of of this.#indexes.keys()) indexed.push(indexValues(of, entry.value, key));
    } catch (error) {
      return new UnreadableValue("index", error);
    }
    this.#unreadable.delete(key);
    this.#entries.set(key, entry);
    let at = 0;
    for (const index of this.#indexes.values()) reindex(index, key, indexed[at++] ?? []);
    return undefined;
  }

  /** Takes the entry of another table of the same indexes, as it is there. */
  adopt(key: ObjectKey, entry: Entry<V>, from: Table<V>): void {
    this.#entries.set(key, entry);
    for (const [of, index] of this.#indexes) reindex(index, key, from.#indexes.get(of)?.valuesOf.get(key) ?? []);
  }

  delete(key: ObjectKey): void {
    this.#unreadable.delete(key);
    this.#entries.delete(key);
    for (const index of this.#indexes.values()) unindex(index, key);
  }

  /** Adds an index over what is there and what will be; none if it is there already. Gives what it throws for, which is not in it. */
  *addIndex(of: IndexFunction<V>): Generator<readonly [ObjectKey, Entry<V>, UnreadableValue]> {
    if (this.#indexes.has(of)) return;
    const index: Index = { keysOf: new Map(), valuesOf: new Map() };
    this.#indexes.set(of, index);
    for (const [key, entry] of this.#entries) {
      try {
        reindex(index, key, indexValues(of, entry.value, key));
      } catch (error) {
        yield [key, entry, new UnreadableValue("index", error)];
      }
    }
  }

  /** The keys that an added index lists under `value`. */
  keysUnder(of: IndexFunction<V>, value: string): Iterable<ObjectKey> {
    const keys = this.#indexes.get(of)?.keysOf.get(value) ?? [];
    return typeof keys === "string" ? [keys] : keys;
  }
}

function indexValues<V>(of: IndexFunction<V>, value: DeepReadonly<V>, key: ObjectKey): readonly string[] {
  const values: unknown = of(value, key);
  // What the types promise, an object may lack.
  if (!Array.isArray(values)) throw new TypeError("an index function must give a list");
  return values;
}

function reindex(index: Index, key: ObjectKey, values: readonly string[]): void {
  unindex(index, key);
  if (values.length === 0) return;
  index.valuesOf.set(key, values);
  for (const value of values) {
    const keys = index.keysOf.get(value);
    if (keys === undefined) index.keysOf.set(value, key);
    else if (typeof keys !== "string") keys.add(key);
    else if (keys !== key) index.keysOf.set(value, new Set([keys, key]));
  }
}

function unindex(index: Index, key: ObjectKey): void {
  const values = index.valuesOf.get(key);
  if (!values) return;
  index.valuesOf.delete(key);
  for (const value of values) {
    const keys = index.keysOf.get(value);
    if (typeof keys === "object") keys.delete(key);
    if (keys === key || (typeof keys === "object" && keys.size === 0)) index.keysOf.delete(value);
  }
}

/** What a store needs. */
interface StoreOptions {
  readonly clock: Clock;
  /** Hears of listeners that throw; they hurt nobody else. And of each state of an object that `keep` or an index function threw for: then `error` is the `UnreadableValue`. */
  readonly onFault: (fault: { readonly what: "listener" | "index" | "keep"; readonly key: ObjectKey; readonly error: unknown }) => void;
}

/** How far a store has come, for those who wait for a write to be seen. It moves on with the store. */
interface StorePosition {
  /** Everything up to here has been delivered; undefined before the first list is complete. */
  readonly resourceVersion: string | undefined;
  /** Lists begun so far, and the number of the last one completed. */
  readonly listsBegun: number;
  readonly lastListDone: number;
  /** Bookmarks so far. */
  readonly bookmarks: number;
}

type Listener<V> = (change: Change<V>) => void;

/**
 * Guarantees: reads are of one state; a list takes effect whole, at its end; listeners hear of every difference between two states once, in order,
 * and of nothing else. A relisted object whose uid and resourceVersion are the same is no change. An object that `keep` or an index function cannot read is not gone: its
 * last entry stays, with the identity that it had, also over relists, and `unreadable` names it.
 */
export class Store<V> {
  readonly #options: StoreOptions;
  readonly #listeners = new Set<{ readonly listener: Listener<V> }>();
  readonly #watchers = new Set<(key: ObjectKey | undefined) => void>();
  readonly #unreadableListeners = new Set<(key: ObjectKey) => void>();
  #table: Table<V>;
  /** The list that is coming in. */
  #incoming: Table<V> | undefined;
  readonly #position: { -readonly [Part in keyof StorePosition]: StorePosition[Part] } = {
    resourceVersion: undefined,
    listsBegun: 0,
    lastListDone: 0,
    bookmarks: 0,
  };
  #synced = false;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#table = new Table<V>([]);
  }

  get size(): number {
    return this.#table.size;
  }

  /** True once the first list is complete and all listeners have heard of it. */
  get synced(): boolean {
    return this.#synced;
  }

  get unreadable(): ReadonlyMap<ObjectKey, UnreadableObject> {
    return this.#table.unreadable;
  }

  /** Calls `listener` for each object that could not be read, from now on. Returns the way to stop. */
  onUnreadable(listener: (key: ObjectKey) => void): () => void {
    this.#unreadableListeners.add(listener);
    return () => void this.#unreadableListeners.delete(listener);
  }

  get position(): StorePosition {
    return this.#position;
  }

  get(key: ObjectKey): Entry<V> | undefined {
    return this.#table.get(key);
  }

  entries(): IterableIterator<[ObjectKey, Entry<V>]> {
    return this.#table.entries();
  }

  addIndex(index: IndexFunction<V>): void {
    for (const table of [this.#table, this.#incoming]) {
      for (const [key, { resourceVersion }, value] of table?.addIndex(index) ?? []) this.#mark(table, key, { resourceVersion, value });
    }
  }

  keysUnder(index: IndexFunction<V>, value: string): Iterable<ObjectKey> {
    return this.#table.keysUnder(index, value);
  }

  /** Replays what is there to `listener`, unless asked not to; then notifies it of every change. Returns the way to stop. */
  subscribe(listener: Listener<V>, { replay = true }: SubscribeOptions = {}): () => void {
    // Wrapped, so that the same function can listen twice.
    const subscription = { listener };
    if (replay) for (const [key, { value }] of this.#table.entries()) this.#call(listener, { type: "added", key, value, initial: true });
    this.#listeners.add(subscription);
    return () => void this.#listeners.delete(subscription);
  }

  /** Calls `notice` after every event that moved `position` or `synced`, with the key if only one object can have changed. Returns the way to stop. */
  onMove(notice: (key: ObjectKey | undefined) => void): () => void {
    this.#watchers.add(notice);
    return () => void this.#watchers.delete(notice);
  }

  /** Takes in one event. The promise, when there is one, must be awaited before the next event: notifying of a long list takes several turns of the event loop. */
  take(event: WatchEvent<V | UnreadableValue>): void | Promise<void> {
    switch (event.type) {
      case "init":
        this.#incoming = new Table<V>(this.#table.indexes);
        this.#position.listsBegun++;
        this.#notifyMoved();
        return undefined;
      case "initApply": {
        const { key, uid, resourceVersion, value } = event.object;
        const known = this.#table.get(key);
        const entry = { uid, resourceVersion, value: value as DeepReadonly<V> };
        const unreadable = value instanceof UnreadableValue ? value : this.#incoming?.set(key, known && isSame(known, entry) ? known : entry);
        if (!unreadable) return undefined;
        // The last value of another object of that name says nothing of this one.
        if (known?.uid === uid && !this.#incoming?.get(key)) this.#incoming?.adopt(key, known, this.#table);
        this.#mark(this.#incoming, key, { resourceVersion, value: unreadable });
        return undefined;
      }
      case "initDone":
        return this.#commit(event.resourceVersion);
      case "apply": {
        const { key, uid, resourceVersion, value } = event.object;
        const entry = { uid, resourceVersion, value: value as DeepReadonly<V> };
        const unreadable = value instanceof UnreadableValue ? value : this.#apply(key, entry);
        if (unreadable && this.#mark(this.#table, key, { resourceVersion, value: unreadable })) this.#notifyUnreadable(key);
        this.#position.resourceVersion = resourceVersion;
        this.#notifyMoved(key);
        return undefined;
      }
      case "delete":
        if (this.#incoming) {
          this.#incoming.delete(event.object.key);
          return undefined;
        }
        this.#remove(event.object.key);
        this.#position.resourceVersion = event.object.resourceVersion;
        this.#notifyMoved(event.object.key);
        return undefined;
      case "progress":
        this.#position.resourceVersion = event.resourceVersion;
        this.#position.bookmarks++;
        this.#notifyMoved();
        return undefined;
    }
  }

  /** True if this state of the object was not known to be unreadable. */
  #mark(
    table: Table<V> | undefined,
    key: ObjectKey,
    { resourceVersion, value }: { readonly resourceVersion: string; readonly value: UnreadableValue },
  ): boolean {
    const isNew = this.#table.unreadable.get(key)?.resourceVersion !== resourceVersion;
    table?.markUnreadable(key, { resourceVersion, error: value.error });
    if (isNew) this.#options.onFault({ what: value.what, key, error: value });
    return isNew;
  }

  #notifyUnreadable(key: ObjectKey): void {
    for (const listener of this.#unreadableListeners) listener(key);
  }

  #apply(key: ObjectKey, entry: Entry<V>): UnreadableValue | undefined {
    const previous = this.#table.get(key);
    if (previous && isSame(previous, entry)) {
      // A state that can be read again.
      return this.#table.unreadable.has(key) ? this.#table.set(key, previous) : undefined;
    }
    const unreadable = this.#table.set(key, entry);
    if (unreadable) return unreadable;
    this.#notify([...this.#listeners], changeOf(key, previous, { entry, initial: false }));
    return undefined;
  }

  #remove(key: ObjectKey): void {
    const previous = this.#table.get(key);
    // Also without an entry: one that could never be read is marked all the same.
    this.#table.delete(key);
    if (previous) this.#notify([...this.#listeners], { type: "deleted", key, previous: previous.value });
  }

  /** Swaps the whole state at once; then notifies of the differences in slices. Those who subscribe meanwhile have observed the new state already. */
  async #commit(resourceVersion: string): Promise<void> {
    const incoming = this.#incoming;
    if (!incoming) throw new Error("the watch ended a list that it had not begun");
    const before = this.#table;
    const initial = this.#position.lastListDone === 0;
    const listeners = [...this.#listeners];
    this.#table = incoming;
    this.#incoming = undefined;
    const slice = sharedTimeSlice(this.#options.clock);
    for (const [key, { value }] of before.entries()) {
      if (!incoming.get(key)) this.#notify(listeners, { type: "deleted", key, previous: value });
      if (slice.used) await slice.pause();
    }
    for (const [key, entry] of incoming.entries()) {
      const previous = before.get(key);
      if (previous !== entry) this.#notify(listeners, changeOf(key, previous, { entry, initial, listed: true }));
      if (slice.used) await slice.pause();
    }
    for (const [key, object] of incoming.unreadable) {
      if (before.unreadable.get(key)?.resourceVersion !== object.resourceVersion) this.#notifyUnreadable(key);
      if (slice.used) await slice.pause();
    }
    this.#synced = true;
    this.#position.resourceVersion = resourceVersion;
    this.#position.lastListDone = this.#position.listsBegun;
    this.#notifyMoved();
  }

  #notify(listeners: readonly { readonly listener: Listener<V> }[], change: Change<V>): void {
    for (const subscription of listeners) if (this.#listeners.has(subscription)) this.#call(subscription.listener, change);
  }

  #call(listener: Listener<V>, change: Change<V>): void {
    try {
      listener(change);
    } catch (error) {
      this.#options.onFault({ what: "listener", key: change.key, error });
    }
  }

  #notifyMoved(key?: ObjectKey): void {
    for (const notice of this.#watchers) notice(key);
  }
}

function changeOf<V>(
  key: ObjectKey,
  previous: Entry<V> | undefined,
  { entry, initial, listed = false }: { readonly entry: Entry<V>; readonly initial: boolean; readonly listed?: boolean },
): Change<V> {
  if (!previous) return { type: "added", key, value: entry.value, initial };
  const type = previous.uid === entry.uid ? "updated" : "replaced";
  return { type, key, value: entry.value, previous: previous.value, ...(listed && { listed }) };
}

/** The values are compared too: a server restored from a backup gives the same resourceVersions out again. */
function isSame<V>(left: Entry<V>, right: Entry<V>): boolean {
  return left.uid === right.uid && left.resourceVersion === right.resourceVersion && isEqual(left.value, right.value);
}

/** Of what is nested too deeply to be compared (an API server stores 10,000 levels, the stack bears about 1,000) it is not known, so it counts as changed. */
function isEqual(left: unknown, right: unknown): boolean {
  try {
    return isDeepStrictEqual(left, right);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
