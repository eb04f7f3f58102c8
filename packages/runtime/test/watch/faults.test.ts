// Watches of a real API server through a proxy that does its worst, while writers change thousands of objects: the caches end equal to the server.
import { ConfigMap, type Kind, ServiceAccount, seededRandom } from "@keyturn/runtime";
import { type ActiveFault, answerWith, cutAt, endWatchWith, refuseSendInitialEvents } from "@keyturn/runtime/testing";
import { describe, expect, it } from "vitest";
import { soon, useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import { type Change } from "../../src/cache/cache.ts";
import { writeAtRandom } from "./random-writers.ts";
import { impatient, stableMs, WatchedCluster, withoutManagedFields } from "./watched-cluster.ts";

const cluster = useSharedApiServer();

/** Keeps a copy from nothing but the changes; fails on one that does not follow from those before. */
function mirror<V>(): { readonly copy: Map<string, unknown>; readonly faults: string[]; readonly listen: (change: Change<V>) => void } {
  const copy = new Map<string, unknown>();
  const faults: string[] = [];
  const listen = (change: Change<V>): void => {
    if (change.type === "added" ? copy.has(change.key) : copy.get(change.key) !== change.previous) faults.push(`${change.type} ${change.key}`);
    if (change.type === "deleted") copy.delete(change.key);
    else copy.set(change.key, change.value);
  };
  return { copy, faults, listen };
}

/** ConfigMaps come as protobuf, ServiceAccounts as JSON. */
const kinds: readonly Kind[] = [ConfigMap, ServiceAccount];

describe.concurrent.each(kinds)("$kind", (kind) => {
  it("ends equal after cuts, stalls, refusals, 410s and refused connections under thousands of writes", async () => {
    await using world = await WatchedCluster.open(cluster(), impatient);
    const { proxy, caches } = world;
    const namespace = await cluster().namespace("faults");
    const random = seededRandom(20_26);
    const writes = { client: cluster().client, kind, namespace, random, names: 300 };
    const whole = caches.watch(kind, { namespace });
    const digests = caches.watch(kind, {
      namespace,
      keep: ({ metadata }) => metadata.annotations?.["written"] ?? "",
      indexes: { by: (value) => [value] },
    });
    const metadata = caches.watch(kind, { namespace, only: "metadata" });
    const all = [whole, digests, metadata];
    const heard = mirror();
    whole.subscribe(heard.listen);
    await writeAtRandom(writes, 300);
    world.start();

    const watches = { path: new RegExp(`/${kind.plural}`), watch: true };
    const resumed = { ...watches, path: new RegExp(`/${kind.plural}.*[?&]resourceVersion=`) };
    const faults: readonly (() => readonly ActiveFault[])[] = [
      () => [proxy.inject(endWatchWith({ status: 410 }, { ...resumed, times: 2 }))],
      () => [proxy.inject(answerWith({ status: 410 }, { ...resumed, times: 3 }))],
      () => [proxy.inject(answerWith({ status: 429, retryAfterSeconds: 1 }, { ...watches, times: 3 }))],
      () => [proxy.inject(answerWith({ status: 503 }, { ...watches, times: 4 }))],
      () => [proxy.inject(cutAt({ bytes: 3_000 }, { ...watches, times: 4 }))],
      () => [proxy.inject(answerWith({ status: 410 }, { ...resumed, times: 2 })), proxy.inject(refuseSendInitialEvents())],
    ];
    for (let round = 0; round < 3 * faults.length; round++) {
      const injected = faults[round % faults.length]?.() ?? [];
      // A fault alone changes nothing for a watch that is well: a cut makes it meet the fault.
      const cut = (): number => proxy.cut(watches, { manner: round % 2 === 0 ? "reset" : "close", limit: 2 });
      cut();
      await writeAtRandom(writes, 60);
      // A refused WatchList is not tried twice, so only the fault that leads to it is sure to be met each time; and one that was cut soon after it began
      // begins with a list again, which is not what every fault is about.
      let liveSinceMs: number | undefined;
      await soon(() => {
        const areLive = all.every((cache) => caches.statusOf(cache).state.type === "live");
        liveSinceMs = areLive ? (liveSinceMs ?? performance.now()) : undefined;
        if (injected[0]?.hits === 0 && liveSinceMs !== undefined && performance.now() - liveSinceMs > 2 * stableMs) {
          cut();
          liveSinceMs = undefined;
        }
        expect(injected[0]?.hits).toBeGreaterThan(0);
      });
      for (const fault of injected) fault.remove();
      using _ = proxy.stall(watches);
      await writeAtRandom(writes, 60);
      if (round % 3 > 0) continue;
      await proxy.refuseConnections();
      proxy.cut();
      await writeAtRandom(writes, 60);
      await proxy.listen();
    }

    for (const cache of all) await world.whenEqual(cache, kind, namespace);
    const { items } = await cluster().client.list(kind, { namespace });
    for (const item of items) {
      const key = `${namespace}/${item.metadata.name}`;
      expect(whole.get(key)).toEqual({ apiVersion: "v1", kind: kind.kind, ...withoutManagedFields(item) });
      expect(digests.get(key)).toBe(item.metadata.annotations?.["written"]);
      expect(digests.byIndex("by", digests.get(key) ?? "")).toContain(key);
      expect(metadata.get(key)).toEqual({ metadata: withoutManagedFields(item).metadata });
    }
    // The faults were met: three caches, each of which had to come back many times, and to list again in pages.
    expect(proxy.requests(watches).length).toBeGreaterThan(30);
    expect(proxy.requests({ path: /limit=50/ }).length).toBeGreaterThan(3);
    expect(heard.faults).toEqual([]);
    expect(heard.copy).toEqual(new Map(whole.entries()));
  });
});
