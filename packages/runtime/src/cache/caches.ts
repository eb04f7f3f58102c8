// All caches of one process: shared by those who want the same thing, started together, watched over by health checks.
import type { WriteRecord } from "../client/write-record.ts";
import type { Kind } from "../client/kind.ts";
import type { KubeObject, Stored } from "../client/object.ts";
import type { Cache, MetadataOnly, MetadataWatchOptions, WatchOptions } from "./cache.ts";

/** How a watch fares. */
export interface WatchStatus {
  /** `plural.group`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly state:
    | { readonly type: "idle" }
    | { readonly type: "syncing" }
    | { readonly type: "live" }
    /** Retrying after a failure that may pass. */
    | { readonly type: "retrying"; readonly error: string }
    /** The server does not serve this kind (404): the CRD is not installed. */
    | { readonly type: "missing" }
    /** The server refuses (403): `rule` is the exact right that is missing, such as `list secrets in the cluster`. */
    | { readonly type: "forbidden"; readonly rule: string };
  readonly synced: boolean;
  /** Those who watch do without it while the kind is not served. Default false. */
  readonly optional?: boolean;
  readonly objects: number;
  /** Since the last byte from the server. */
  readonly quietForMs: number;
}

/** The caches of a process. */
export interface Caches {
  watch<V = Stored<MetadataOnly>>(kind: Kind, options: MetadataWatchOptions<V>): Cache<V>;
  watch<T extends KubeObject, V = Stored<T>>(kind: Kind<T>, options?: WatchOptions<T, V>): Cache<V>;
  /** Starts every watch declared so far, and later ones at once; all end when the signal aborts. */
  start(signal: AbortSignal): void;
  statuses(): readonly WatchStatus[];
  /** The status of the watch behind one cache. */
  statusOf(cache: Cache<unknown>): WatchStatus;
  /**
   * Resolves when `cache` shows the write or something newer. At once if the cache does not cover the written object.
   * A complete relist that began after the write settles it too, so restored servers whose resourceVersions went backwards cannot hold it up.
   * Resolves to false if the write may have been undone without the cache ever showing it: then no change will tell, and the key must run again.
   */
  whenSeen(cache: Cache<unknown>, write: WriteRecord, signal?: AbortSignal): Promise<boolean>;
}
