// A cache that a test fills by hand.
import { type Cache, type Change, type DeepReadonly, type Kind, nameOf, type ObjectKey } from "@keyturn/runtime";

/** Notifies its listeners of every `put` and `drop`, as the runtime's caches do of what they see. */
export class ManualCache<V> implements Cache<V> {
  readonly holds = "whole";
  readonly kind: Kind;
  readonly selection = {};
  readonly synced = true;
  readonly #values = new Map<ObjectKey, { readonly value: DeepReadonly<V>; readonly uid: string }>();
  readonly #listeners = new Set<(change: Change<V>) => void>();

  constructor(kind: Kind) {
    this.kind = kind;
  }

  put(key: ObjectKey, value: DeepReadonly<V>, uid = key): void {
    const previous = this.#values.get(key)?.value;
    this.#values.set(key, { value, uid });
    this.#notify(previous === undefined ? { type: "added", key, value, initial: false } : { type: "updated", key, value, previous });
  }

  drop(key: ObjectKey): void {
    const previous = this.#values.get(key)?.value;
    this.#values.delete(key);
    if (previous !== undefined) this.#notify({ type: "deleted", key, previous });
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: ObjectKey): DeepReadonly<V> | undefined {
    return this.#values.get(key)?.value;
  }

  identity(key: ObjectKey): { readonly uid: string; readonly resourceVersion: string } | undefined {
    const found = this.#values.get(key);
    return found && { uid: found.uid, resourceVersion: "1" };
  }

  *entries(namespace?: string): IterableIterator<readonly [ObjectKey, DeepReadonly<V>]> {
    for (const [key, { value }] of this.#values) if (namespace === undefined || nameOf(key).namespace === namespace) yield [key, value];
  }

  byIndex(): readonly ObjectKey[] {
    return [];
  }

  async whenSynced(): Promise<void> {}

  subscribe(listener: (change: Change<V>) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #notify(change: Change<V>): void {
    for (const listener of this.#listeners) listener(change);
  }
}
