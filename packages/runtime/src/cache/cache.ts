// What controllers see of a watched kind: a live, read-only, indexed copy of what they declared to keep, and how its watch fares.
import type { Selection } from "../client/client.ts";
import { type Kind, type KubeObject, type ObjectKey, resourceOf, type Stored } from "../client/kind.ts";
import type { WatchState } from "../watch/step.ts";
import type { WatchStatus } from "./caches.ts";

/** Deeply read-only. */
export type DeepReadonly<T> = T extends (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends ReadonlyMap<infer Key, infer Value>
    ? ReadonlyMap<Key, DeepReadonly<Value>>
    : T extends object
      ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
      : T;

/** What to watch and what of it to keep. */
export interface WatchOptions<T extends KubeObject, V> extends Selection {
  /**
   * Turns each object, as it is read, into what the cache holds. Two watches share one cache when their kind, selection and `keep` are the same (the same function object).
   * Absent: the whole object less `metadata.managedFields`.
   */
  readonly keep?: (object: Stored<T>) => V;
  /** Indexes by name: each gives the index values of a kept object. */
  readonly indexes?: Readonly<Record<string, (value: DeepReadonly<V>, key: ObjectKey) => readonly string[]>>;
  /**
   * The kind may not be served, because its CRD is somebody else's choice: until it is, and once it is no more, the cache is synced and empty.
   * Default false: whoever watches waits for the CRD.
   */
  readonly optional?: boolean;
  /** The watch begins when this cache is synced, so that `keep` can look things up in it from the first object on. Default: with all others. */
  readonly after?: Cache<unknown>;
}

/** A watch that asks the API server for metadata alone (`PartialObjectMetadata`), so that bodies never reach this process. `keep` sees no more than that. */
export interface MetadataWatchOptions<V> extends WatchOptions<MetadataOnly, V> {
  readonly only: "metadata";
}

/** An object of which only the metadata is known. */
export type MetadataOnly = KubeObject;

/** A change of one cached object. `replaced` is a delete and a create under one name (the uid changed) seen as one step. */
export type Change<V> =
  | { readonly type: "added"; readonly key: ObjectKey; readonly value: DeepReadonly<V>; /** Part of the first list. */ readonly initial: boolean }
  | { readonly type: "updated" | "replaced"; readonly key: ObjectKey; readonly value: DeepReadonly<V>; readonly previous: DeepReadonly<V> }
  | { readonly type: "deleted"; readonly key: ObjectKey; readonly previous: DeepReadonly<V> };

/** What the object was before the change, and what it is after: for triggers that must reach whom it concerned and whom it concerns. */
export function statesOf<V>(change: Change<V>): readonly DeepReadonly<V>[] {
  return [...("previous" in change ? [change.previous] : []), ...("value" in change ? [change.value] : [])];
}

/** How to listen to a cache. */
export interface SubscribeOptions {
  /** False for someone who reads `entries` instead, at leisure: a replay holds the event loop until it is over. Default true. */
  readonly replay?: boolean;
}

/** A cache as controllers see it. All reads are synchronous and of one state. */
export interface Cache<V> {
  readonly kind: Kind;
  readonly selection: Selection;
  get(key: ObjectKey): DeepReadonly<V> | undefined;
  /** The identity of what `get` returns. */
  identity(key: ObjectKey): { readonly uid: string; readonly resourceVersion: string } | undefined;
  /** All keys and values, or those of one namespace. */
  entries(namespace?: string): IterableIterator<readonly [ObjectKey, DeepReadonly<V>]>;
  /** The keys that a declared index lists under `value`. */
  byIndex(index: string, value: string): readonly ObjectKey[];
  readonly size: number;
  /** True once the first list is complete. */
  readonly synced: boolean;
  /** Resolves when `synced`. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** Calls `listener` for each change from now on, after first replaying what is there as `added` with `initial: true`. Returns the way to stop. */
  subscribe(listener: (change: Change<V>) => void, options?: SubscribeOptions): () => void;
}

// Puts the state of a watch into the words that health checks, logs and people read.

/** The status that `state` stands for. */
export function statusStateOf(state: WatchState, kind: Kind, namespace: string | undefined): WatchStatus["state"] {
  const { problem } = state;
  switch (problem?.type) {
    case "missing":
      return { type: "missing" };
    case "forbidden":
      return {
        type: "forbidden",
        rule: `${problem.verb} ${resourceOf(kind)} ${namespace === undefined ? "in the cluster" : `in namespace ${namespace}`}`,
      };
    case "failing":
      return { type: "retrying", error: problem.error };
    case undefined:
      break;
  }
  switch (state.type) {
    case "idle":
      return { type: "idle" };
    case "streaming":
    case "paging":
      return { type: "syncing" };
    case "watching":
    case "waiting":
    default:
      return { type: "live" };
  }
}

/** Of several statuses the one that needs attention most. */
export function worstStatus(statuses: readonly WatchStatus[]): WatchStatus | undefined {
  const rank: Readonly<Record<WatchStatus["state"]["type"], number>> = { forbidden: 5, missing: 4, retrying: 3, idle: 2, syncing: 1, live: 0 };
  return statuses.toSorted((a, b) => rank[b.state.type] - rank[a.state.type])[0];
}
