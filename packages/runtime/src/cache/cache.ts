// What controllers see of a watched kind: a live, read-only, indexed copy of what they declared to keep, and how its watch fares.
import type { Selection } from "../client/client.ts";
import { type Kind, type KubeObject, type ObjectKey, type Stored } from "../client/kind.ts";
import type { IndexFunction, UnreadableObject } from "./store.ts";

/** Deeply read-only. */
export type DeepReadonly<T> = T extends (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends ReadonlyMap<infer Key, infer Value>
    ? ReadonlyMap<Key, DeepReadonly<Value>>
    : T extends object
      ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
      : T;

/** What to watch and what of it to keep. */
export interface WatchOptions<T extends KubeObject, V, Index extends string = string> extends Selection {
  /**
   * Turns each object, as it is read, into what the cache holds. Two watches share one cache when their kind, selection and `keep` are the same (the same function object).
   * Absent: the whole object less `metadata.managedFields`. An object that it throws for is not gone: what was kept of it before stays, it is logged and
   * counted, and the keys that it concerns fail with the reason `Unreadable` until it can be read. They are found by its last value: of an object that this
   * process could never read, only the key of its own name is known. Where several objects make one key, let `keep` give a value that says what is wrong.
   */
  readonly keep?: (object: Stored<T>) => V;
  /** Indexes by name: each gives the index values of a kept object. One that throws is as if `keep` had thrown. */
  readonly indexes?: Readonly<Record<Index, (value: DeepReadonly<V>, key: ObjectKey) => readonly string[]>>;
  /**
   * The kind may not be served, because its CRD is somebody else's choice: until it is, and once it is no more, the cache is synced and empty.
   * Default false: whoever watches waits for the CRD.
   */
  readonly optional?: boolean;
  /**
   * What `get` makes of an object that exists and of which nothing could ever be kept: `absent`, or an `UnreadableError`, so that nobody takes it for
   * one that is gone. Default `absent`; in a controller `error`.
   */
  readonly unreadable?: "absent" | "error";
  /** The watch begins when this cache is synced, so that `keep` can look things up in it from the first object on. Default: with all others. */
  readonly after?: Cache<unknown>;
}

/** A watch that asks the API server for metadata alone (`PartialObjectMetadata`), so that bodies never reach this process. `keep` sees no more than that. */
export interface MetadataWatchOptions<V, Index extends string = string> extends WatchOptions<MetadataOnly, V, Index> {
  readonly only: "metadata";
}

/** An object of which only the metadata is known. */
export type MetadataOnly = KubeObject;

/** A change of one cached object. `replaced` is a delete and a create under one name (the uid changed) seen as one step. */
export type Change<V> =
  | { readonly type: "added"; readonly key: ObjectKey; readonly value: DeepReadonly<V>; /** Part of the first list. */ readonly initial: boolean }
  | {
      readonly type: "updated" | "replaced";
      readonly key: ObjectKey;
      readonly value: DeepReadonly<V>;
      readonly previous: DeepReadonly<V>;
      /** Found by a new list: there may have been states in between, of which nobody hears. */
      readonly listed?: true;
    }
  | { readonly type: "deleted"; readonly key: ObjectKey; readonly previous: DeepReadonly<V> };

/** How to listen to a cache. */
export interface SubscribeOptions {
  /** False for someone who reads `entries` instead, at leisure: a replay holds the event loop until it is over. Default true. */
  readonly replay?: boolean;
}

/** Whole objects, as they are. */
export interface WholeWatchOptions<T extends KubeObject, Index extends string = string> extends Omit<WatchOptions<T, Stored<T>, Index>, "keep"> {
  readonly keep?: undefined;
  readonly only?: undefined;
  /** Needed for Secrets, and only there: says that whole Secrets are to be held in memory. */
  readonly whole?: true;
}

/** What `keep` makes of each object. */
interface KeepWatchOptions<T extends KubeObject, V, I> extends Omit<WatchOptions<T, V>, "keep" | "indexes"> {
  readonly keep: (object: Stored<T>) => V;
  readonly indexes?: I & Indexes<V>;
}

/** Indexes by name, whose names are inferred from them. */
type Indexes<V> = NonNullable<WatchOptions<KubeObject, V>["indexes"]>;

/** Nothing that fits for Secrets, told by what only they have: nobody should hold them whole by accident. */
type Declared<T> = "stringData" extends keyof T ? "Secrets are watched with `keep`, or with `whole: true`" : unknown;

/** What `watch` is, for whoever has caches to give. */
export interface Watch {
  /** Metadata alone, or what `keep` makes of that. */
  <V = Stored<MetadataOnly>, Index extends string = never>(kind: Kind, options: MetadataWatchOptions<V, Index>): Cache<V, Index>;
  /** What `keep` makes of each object. */
  <T extends KubeObject, V = Stored<T>, I = object>(kind: Kind<T>, options: KeepWatchOptions<T, V, I>): Cache<V, keyof I & string>;
  /** Whole Secrets, which has to be said. */
  <T extends KubeObject, Index extends string = never>(
    kind: Kind<T>,
    options: WholeWatchOptions<T, Index> & { readonly whole: true },
  ): WholeCache<T, Index>;
  /** Whole objects. */
  <T extends KubeObject, Index extends string = never>(kind: Kind<T> & Declared<T>, options?: WholeWatchOptions<T, Index>): WholeCache<T, Index>;
  /** With types that are given instead of inferred; names of indexes are not checked then. */
  <T extends KubeObject, V = Stored<T>>(kind: Kind<T> & Declared<T>, options?: WatchOptions<T, V>): Cache<V>;
}

/** Any of the options that `watch` takes, for those who implement it. */
export interface AnyWatchOptions extends Omit<WatchOptions<KubeObject, unknown>, "keep" | "indexes"> {
  readonly keep?: (object: Stored<KubeObject>) => unknown;
  readonly indexes?: Readonly<Record<string, IndexFunction<unknown>>>;
  readonly only?: "metadata";
  readonly whole?: true;
}

/** `watch`, for those who pass on what others ask for. */
export type AnyWatch = (kind: Kind, options?: AnyWatchOptions) => Cache<unknown>;

/** A cache of whole objects: what can be compared with what is wanted. */
export interface WholeCache<T extends KubeObject, Index extends string = string> extends Cache<Stored<T>, Index> {
  readonly holds: "whole";
}

/** A cache as controllers see it. All reads are synchronous and of one state. `Index` are the names of its indexes. */
export interface Cache<V, Index extends string = string> {
  readonly kind: Kind;
  readonly selection: Selection;
  get(key: ObjectKey): DeepReadonly<V> | undefined;
  /** The identity of what `get` returns. */
  identity(key: ObjectKey): { readonly uid: string; readonly resourceVersion: string } | undefined;
  /** All keys and values, or those of one namespace. */
  entries(namespace?: string): IterableIterator<readonly [ObjectKey, DeepReadonly<V>]>;
  /** The keys that a declared index lists under `value`. */
  byIndex(index: Index, value: string): readonly ObjectKey[];
  readonly size: number;
  /** True once the first list is complete. */
  readonly synced: boolean;
  /** Resolves when `synced`. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** Calls `listener` for each change from now on, after first replaying what is there as `added` with `initial: true`. Returns the way to stop. */
  subscribe(listener: (change: Change<V>) => void, options?: SubscribeOptions): () => void;
  /** Objects that exist and that `keep` throws for. Absent: this cache knows of none. */
  readonly unreadable?: UnreadableObjects;
}

/** The objects of a cache that cannot be read. */
export interface UnreadableObjects {
  get(key: ObjectKey): UnreadableObject | undefined;
  keys(): Iterable<ObjectKey>;
  /** Calls `listener` for each from now on. Returns the way to stop. */
  subscribe(listener: (key: ObjectKey) => void): () => void;
}
