// The etcd of the simulation: all objects at one revision, the history that watches read, compaction, and restoring an older backup.
import { objectOr, withKey } from "./json.ts";
import type { JsonObject } from "./json.ts";

/** One change of one object. */
export interface StoreChange {
  readonly revision: number;
  readonly resource: string;
  readonly key: string;
  readonly before: JsonObject | undefined;
  /** Undefined for a removal; `before` is then the last state. */
  readonly after: JsonObject | undefined;
}

/** Everything the store held at one moment. */
export interface Backup {
  readonly revision: number;
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, JsonObject>>;
}

/** Objects by resource (`plural.group`) and key, with every change numbered by a growing revision. */
export class ObjectStore {
  #revision: number;
  #compacted: number;
  #objects = new Map<string, Map<string, JsonObject>>();
  #history: StoreChange[] = [];
  readonly #listeners = new Set<(change: StoreChange) => void>();

  constructor(revision: number) {
    this.#revision = revision;
    this.#compacted = revision;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Changes up to here are no longer known. */
  get compacted(): number {
    return this.#compacted;
  }

  get(resource: string, key: string): JsonObject | undefined {
    return this.#objects.get(resource)?.get(key);
  }

  /** Stores the object with the next revision as its resourceVersion, and returns it. */
  put(resource: string, key: string, object: JsonObject): JsonObject {
    const collection = this.#objects.get(resource) ?? new Map<string, JsonObject>();
    this.#objects.set(resource, collection);
    const before = collection.get(key);
    this.#revision += 1;
    const after = withVersion(object, this.#revision);
    collection.set(key, after);
    this.#record({ revision: this.#revision, resource, key, before, after });
    return after;
  }

  remove(resource: string, key: string): void {
    const before = this.get(resource, key);
    if (!before) return;
    this.#objects.get(resource)?.delete(key);
    this.#revision += 1;
    this.#record({ revision: this.#revision, resource, key, before, after: undefined });
  }

  /** The collection now, or as it was at an earlier revision; sorted by key. The revision must not lie before `compacted`. */
  list(resource: string, revision: number = this.#revision): readonly (readonly [string, JsonObject])[] {
    const state = new Map(this.#objects.get(resource));
    for (const change of this.#history.toReversed()) {
      if (change.revision <= revision) break;
      if (change.resource !== resource) continue;
      if (change.before) state.set(change.key, change.before);
      else state.delete(change.key);
    }
    return [...state].sort(([left], [right]) => (left < right ? -1 : 1));
  }

  /** What changed in the collection after the revision, oldest first. */
  changesSince(resource: string, revision: number): readonly StoreChange[] {
    const newer: StoreChange[] = [];
    for (let index = this.#history.length - 1; index >= 0; index -= 1) {
      const change = this.#history[index];
      if (!change || change.revision <= revision) break;
      if (change.resource === resource) newer.push(change);
    }
    return newer.toReversed();
  }

  /** Every object there is, with its resource and key. */
  *all(): IterableIterator<readonly [resource: string, key: string, object: JsonObject]> {
    for (const [resource, collection] of this.#objects) for (const [key, object] of collection) yield [resource, key, object];
  }

  /** Forgets the changes up to the revision; watches that still need them get 410. */
  compact(revision: number): void {
    this.#compacted = Math.max(this.#compacted, Math.min(revision, this.#revision));
    this.#history = this.#history.filter((change) => change.revision > this.#compacted);
  }

  backup(): Backup {
    return { revision: this.#revision, objects: new Map([...this.#objects].map(([resource, collection]) => [resource, new Map(collection)])) };
  }

  /** Goes back to the backup: later writes are gone and their revisions are given out again. */
  restore({ revision, objects }: Backup): void {
    this.#objects = new Map([...objects].map(([resource, collection]) => [resource, new Map(collection)]));
    this.#revision = revision;
    this.#compacted = revision;
    this.#history = [];
  }

  /** Calls the listener after every change. Returns the way to stop. */
  onChange(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #record(change: StoreChange): void {
    this.#history.push(change);
    for (const listener of this.#listeners) listener(change);
  }
}

/** The object with its resourceVersion set. */
export function withVersion(object: JsonObject, revision: number): JsonObject {
  return { ...object, metadata: withKey(objectOr(object["metadata"]), "resourceVersion", String(revision)) };
}
