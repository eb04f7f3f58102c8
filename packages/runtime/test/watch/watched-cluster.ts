// Caches that reach a real API server only through the fault proxy, and the question whether they show what the server holds.
import { type Kind, type KubeObject, createHttpTransport, loadConfig, seededRandom, systemClock } from "@keyturn/runtime";
import { type ClusterAccess, type FaultProxy, startFaultProxy } from "@keyturn/runtime/testing";
import { soon } from "@keyturn/runtime/testing/vitest";
import { assert } from "vitest";
import type { Cache } from "../../src/cache/cache.ts";
import { type CacheRegistry, createCaches } from "../../src/cache/caches.ts";
import type { Logger } from "../../src/observe/logger.ts";
import type { WatchLimits } from "../../src/watch/watch-limits.ts";

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };

/** A watch that has lasted for so long goes on from where it stood when it is cut. */
export const stableMs = 1_000;

/** So that a test sees in seconds what takes minutes in earnest; small pages, so that there are several. */
const quick: Partial<WatchLimits> = { stableMs, firstBackoffMs: 50, maxBackoffMs: 500, pageSize: 50 };

/** Gives up what stands still, also where that is only a busy machine: for tests in which it does not matter how often. */
export const impatient: Partial<WatchLimits> = { ...quick, listStallMs: 1_500, quietMs: 1_500 };

/** Gives nothing up, so that only what a test does can bring a watch to begin again. */
export const patient: Partial<WatchLimits> = { ...quick, listStallMs: 600_000, quietMs: 600_000 };

/** A proxy and the caches behind it. */
export class WatchedCluster implements AsyncDisposable {
  readonly proxy: FaultProxy;
  readonly caches: CacheRegistry;
  readonly #cluster: ClusterAccess;
  readonly #stop = new AbortController();
  readonly #close: () => void;

  private constructor(cluster: ClusterAccess, proxy: FaultProxy, wire: { readonly caches: CacheRegistry; readonly close: () => void }) {
    this.#cluster = cluster;
    this.proxy = proxy;
    this.caches = wire.caches;
    this.#close = wire.close;
  }

  /** `kubeconfig`: whose rights the caches have; default the administrator's. */
  static async open(cluster: ClusterAccess, limits: Partial<WatchLimits>, kubeconfig = cluster.adminKubeconfig): Promise<WatchedCluster> {
    const proxy = await startFaultProxy(cluster);
    const transport = createHttpTransport(await loadConfig({ kubeconfig: proxy.through(kubeconfig), env: {} }));
    const caches = createCaches({ transport, clock: systemClock, random: seededRandom(7), log: silent, limits });
    return new WatchedCluster(cluster, proxy, { caches, close: () => transport.close() });
  }

  start(): void {
    this.caches.start(this.#stop.signal);
  }

  /** Waits until `cache` shows exactly what the server holds in `namespace`, each object in its latest state, and is live. */
  async whenEqual(cache: Cache<unknown>, kind: Kind, namespace: string): Promise<void> {
    const { items } = await this.#cluster.client.list(kind, { namespace });
    const held = Object.fromEntries(items.map(({ metadata: { name, uid, resourceVersion } }) => [`${namespace}/${name}`, { uid, resourceVersion }]));
    const shown = (): object =>
      Object.fromEntries(
        [...cache.entries(namespace)].map(([key]) => {
          const { uid, resourceVersion } = cache.identity(key) ?? {};
          return [key, { uid, resourceVersion }];
        }),
      );
    await soon(() => assert.deepEqual(shown(), held));
    await soon(() => assert.equal(this.caches.statusOf(cache).state.type, "live"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#close();
    await this.proxy.stop();
  }
}

/** What the server returns for an object, less what no cache keeps. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as T["metadata"] & { readonly managedFields?: unknown };
  return { ...object, metadata };
}
