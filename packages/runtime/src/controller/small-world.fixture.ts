// For tests: one kind of object, a server that stores it, and a cache of it that can be told to lag behind.
import type { Cache, Change, DeepReadonly, Watch } from "../cache/cache.ts";
import type { Caches, WatchStatus } from "../cache/caches.ts";
import type { Client } from "../client/client.ts";
import { defineKind, keyOf, keyOfObject, type KubeObject, type ObjectKey, resourceOf, type Stored } from "../client/kind.ts";
import type { WriteRecord } from "./run.ts";

export interface Thing extends KubeObject {
  readonly size?: number;
}

export const thingKind = defineKind<Thing>({ group: "test.dev", version: "v1", kind: "Thing", plural: "things", namespaced: true });

/** The server and the cache of one controller's test. Every object kept whole, in the order of its writes. */
export class SmallWorld {
  readonly stored = new Map<ObjectKey, Stored<Thing>>();
  readonly #seen = new Map<ObjectKey, Stored<Thing>>();
  readonly #listeners = new Set<(change: Change<Stored<Thing>>) => void>();
  readonly #undelivered: Stored<Thing>[] = [];
  readonly #waits = new Set<{ readonly version: number; readonly key: ObjectKey; readonly resolve: () => void }>();
  #version = 0;
  /** While true, writes reach the server but not the cache. */
  lagging = false;
  state: WatchStatus["state"] = { type: "live" };
  readonly #synced = Promise.withResolvers<void>();
  #isSynced = false;

  /** Ends the first list. */
  sync(): void {
    this.#isSynced = true;
    this.#synced.resolve();
  }

  put(name: string, size: number): Stored<Thing> {
    const version = String(++this.#version);
    const object = { metadata: { namespace: "test", name, uid: name, resourceVersion: version }, size };
    this.stored.set(keyOfObject(object), object);
    this.#undelivered.push(object);
    if (!this.lagging) this.catchUp();
    return object;
  }

  /** Delivers to the cache what it has not seen. */
  catchUp(): void {
    for (const object of this.#undelivered.splice(0)) {
      const key = keyOfObject(object);
      const previous = this.#seen.get(key);
      this.#seen.set(key, object);
      const change: Change<Stored<Thing>> = previous
        ? { type: "updated", key, value: object, previous }
        : { type: "added", key, value: object, initial: false };
      for (const listener of this.#listeners) listener(change);
      for (const wait of this.#waits) {
        if (wait.key === key && Number(object.metadata.resourceVersion) >= wait.version) {
          this.#waits.delete(wait);
          wait.resolve();
        }
      }
    }
  }

  readonly cache: Cache<Stored<Thing>> = {
    kind: thingKind,
    selection: {},
    get: (key) => this.#seen.get(key),
    identity: (key) => this.#seen.get(key)?.metadata,
    entries: () => new Map<ObjectKey, DeepReadonly<Stored<Thing>>>(this.#seen).entries(),
    byIndex: () => [],
    size: 0,
    synced: true,
    whenSynced: (signal) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        void this.#synced.promise.then(resolve);
      }),
    subscribe: (listener, { replay = true } = {}) => {
      if (replay) for (const [key, value] of this.#seen) listener({ type: "added", key, value, initial: true });
      this.#listeners.add(listener);
      return () => void this.#listeners.delete(listener);
    },
  };

  /** Every watch is the one cache. */
  get caches(): Caches {
    const status = (): WatchStatus => ({
      resource: resourceOf(thingKind),
      namespace: undefined,
      state: this.state,
      synced: this.#isSynced,
      objects: this.#seen.size,
      quietForMs: 0,
    });
    return {
      watch: (() => this.cache) as unknown as Watch,
      start: () => {},
      statuses: () => [status()],
      statusOf: status,
      whenObserved: (_cache: Cache<unknown>, write: WriteRecord) => this.#whenObserved(write),
    };
  }

  /** `apply` and `get` of things; whatever else is asked is refused. */
  get client(): Client {
    const refuse = (): never => {
      throw new Error("the small world has no such request");
    };
    const client: Client = {
      get: async (_kind, name) => this.stored.get(keyOf(name)) as never,
      list: refuse,
      create: refuse,
      replace: refuse,
      apply: async (_kind, object) => this.put(object.metadata.name ?? "", (object as Thing).size ?? 0) as never,
      jsonPatch: refuse,
      mergePatch: refuse,
      delete: refuse,
      deleteCollection: refuse,
      request: refuse,
    };
    return client;
  }

  #whenObserved(write: WriteRecord): Promise<boolean> {
    const version = write.type === "written" ? Number(write.resourceVersion) : 0;
    if (Number(this.#seen.get(write.key)?.metadata.resourceVersion ?? 0) >= version) return Promise.resolve(true);
    return new Promise((resolve) => this.#waits.add({ version, key: write.key, resolve: () => resolve(true) }));
  }
}
