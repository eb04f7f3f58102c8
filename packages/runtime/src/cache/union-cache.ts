// Several caches of one kind as one, for an operator that is limited to some namespaces.
import type { Selection } from "../client/client.ts";
import type { Kind } from "../client/kind.ts";
import type { ObjectKey } from "../client/object.ts";
import type { Cache, Change, DeepReadonly, SubscribeOptions } from "./cache.ts";

/** The union of caches that share no object, such as one per namespace. */
export class UnionCache<V> implements Cache<V> {
  readonly kind: Kind;
  readonly selection: Selection;
  readonly parts: readonly Cache<V>[];

  /** `selection` is what the parts have in common. At least one part. */
  constructor(parts: readonly Cache<V>[], selection: Selection) {
    const [first] = parts;
    if (!first) throw new Error("a union of caches needs at least one cache");
    this.kind = first.kind;
    this.selection = selection;
    this.parts = parts;
  }

  get size(): number {
    return this.parts.reduce((sum, part) => sum + part.size, 0);
  }

  get synced(): boolean {
    return this.parts.every((part) => part.synced);
  }

  get(key: ObjectKey): DeepReadonly<V> | undefined {
    return this.#holding(key)?.get(key);
  }

  identity(key: ObjectKey): { readonly uid: string; readonly resourceVersion: string } | undefined {
    return this.#holding(key)?.identity(key);
  }

  *entries(namespace?: string): IterableIterator<readonly [ObjectKey, DeepReadonly<V>]> {
    for (const part of this.parts) yield* part.entries(namespace);
  }

  byIndex(index: string, value: string): readonly ObjectKey[] {
    return this.parts.flatMap((part) => part.byIndex(index, value));
  }

  async whenSynced(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.parts.map((part) => part.whenSynced(signal)));
  }

  subscribe(listener: (change: Change<V>) => void, options?: SubscribeOptions): () => void {
    const stops = this.parts.map((part) => part.subscribe(listener, options));
    return () => {
      for (const stop of stops) stop();
    };
  }

  #holding(key: ObjectKey): Cache<V> | undefined {
    return this.parts.find((part) => part.identity(key) !== undefined);
  }
}
