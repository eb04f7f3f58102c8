// Own writes are seen: on a real API server, through a stalled watch, and after a restore of etcd that took resourceVersions back.
import { cp, rm } from "node:fs/promises";
import { ConfigMap, type ControllerDefinition, Event, Lease, Secret, type Stored } from "@keyturn/runtime";
import { describe, expect, it } from "vitest";
import { startFaultProxy, startOperator } from "@keyturn/runtime/testing";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { trackAnswers, type WriteRecord } from "../../src/controller/run.ts";
import { clusterFilesIn } from "../../src/testing/cluster/cluster-access.ts";
import { impatient, patient, WatchedCluster } from "./watched-cluster.ts";

const cluster = useCluster();

const recordOf = ({ metadata: { namespace = "", name, uid, resourceVersion, labels = {} } }: Stored<ConfigMap>): WriteRecord => ({
  type: "written",
  kind: ConfigMap,
  key: `${namespace}/${name}`,
  uid,
  resourceVersion,
  labels,
});

describe("own writes", () => {
  it("are in the cache once whenObserved resolves, and it does not while the watch stands still", async () => {
    await using world = await WatchedCluster.open(cluster(), patient);
    const namespace = await cluster().namespace("own");
    const cache = world.caches.watch(ConfigMap, { namespace });
    world.start();
    await cache.whenSynced();
    for (let i = 0; i < 50; i++) {
      const name = `object-${i % 10}`;
      const written = await cluster().client.apply(ConfigMap, { metadata: { namespace, name }, data: { i: String(i) } }, { fieldManager: "test" });
      await world.caches.whenObserved(cache, recordOf(written));
      expect(cache.get(`${namespace}/${name}`)?.data).toEqual({ i: String(i) });
    }
    const stall = world.proxy.stall({ watch: true });
    const written = await cluster().client.create(ConfigMap, { metadata: { namespace, name: "late" } });
    let seen = false;
    const wait = world.caches.whenObserved(cache, recordOf(written)).then(() => (seen = true));
    // Other requests pass meanwhile, so time has gone by in which the event would have come.
    await cluster().client.list(ConfigMap, { namespace });
    expect(seen).toBe(false);
    stall.undo();
    await wait;
    expect(cache.get(`${namespace}/late`)).toBeDefined();
    await cluster().client.delete(ConfigMap, { namespace, name: "late" });
    await world.caches.whenObserved(cache, { type: "deleted", kind: ConfigMap, key: `${namespace}/late`, uid: written.metadata.uid });
    expect(cache.get(`${namespace}/late`)).toBeUndefined();
  });

  it("do not wait in a watch by a field selector for what it does not select: neither event nor bookmark has to come", async () => {
    await using world = await WatchedCluster.open(cluster(), patient);
    const namespace = await cluster().namespace("selected");
    const cache = world.caches.watch(Secret, { namespace, fields: "type=kubernetes.io/tls", only: "metadata" });
    world.start();
    await cache.whenSynced();
    const stall = world.proxy.stall({ watch: true });
    const records: WriteRecord[] = [];
    const client = trackAnswers(cluster().client, (record) => records.push(record));
    const opaque = { namespace, name: "opaque" };
    await client.create(Secret, { metadata: opaque, data: { a: "YQ==" } });
    await client.apply(Secret, { metadata: opaque, data: { a: "Yg==" } }, { fieldManager: "test", force: true, answer: "metadata" });
    await client.mergePatch(Secret, opaque, { data: { a: "Yw==" } }, { answer: "metadata" });
    await client.get(Secret, opaque);
    for (const record of records) expect(await world.caches.whenObserved(cache, record)).toBe(true);
    expect(records).toHaveLength(4);
    // The stall holds what is selected.
    await client.create(Secret, { metadata: { namespace, name: "tls" }, type: "kubernetes.io/tls", data: { "tls.crt": "", "tls.key": "" } });
    const [selected] = records.slice(4);
    if (!selected) throw new Error("the write was not recorded");
    let seen = false;
    const wait = world.caches.whenObserved(cache, selected).then(() => (seen = true));
    await client.list(Secret, { namespace });
    expect(seen).toBe(false);
    stall.undo();
    await wait;
    expect(cache.size).toBe(1);
  });

  it("are waited for in a watch by a field selector whose field the server has filled in, though less was asked for than the object", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("filled-in");
    await using proxy = await startFaultProxy(cluster());
    const seen: string[] = [];
    const opaque: ControllerDefinition = {
      name: "opaque",
      access: [],
      setup({ watch, trigger }) {
        const made = watch(Secret, { namespace, fields: "type=Opaque", only: "metadata" });
        trigger(watch(ConfigMap, { namespace }));
        return async ({ key, client: own }) => {
          seen.push(`${key.slice(namespace.length + 1)} ${made.size}`);
          const name = { namespace, name: key.slice(namespace.length + 1) };
          await own.apply(Secret, { metadata: name, data: { a: "YQ==" } }, { fieldManager: "test", force: true, answer: "metadata" });
        };
      },
    };
    await using _operator = await startOperator({
      kubeconfig: proxy.through(cluster().adminKubeconfig),
      controllers: [opaque],
      leaderElection: { enabled: false },
    });
    await client.create(ConfigMap, { metadata: { namespace, name: "one" } });
    await soon(() => expect(seen).toEqual(["one 0"]));
    await soon(async () => expect(await client.get(Secret, { namespace, name: "one" })).toBeDefined());
    await client.mergePatch(ConfigMap, { namespace, name: "one" }, { data: { a: "1" } });
    await soon(() => expect(seen).toEqual(["one 0", "one 1"]));

    const stall = proxy.stall({ watch: true, path: /\/secrets/ });
    await client.create(ConfigMap, { metadata: { namespace, name: "two" } });
    await soon(() => expect(seen).toContain("two 1"));
    await soon(async () => expect(await client.get(Secret, { namespace, name: "two" })).toBeDefined());
    await client.mergePatch(ConfigMap, { namespace, name: "two" }, { data: { a: "1" } });
    await client.create(ConfigMap, { metadata: { namespace, name: "three" } });
    // It came after the change, and was run.
    await soon(() => expect(seen).toContain("three 1"));
    expect(seen.filter((run) => run.startsWith("two"))).toEqual(["two 1"]);
    stall.undo();
    // Whether that of the third is there too does not matter to the second.
    await soon(() => expect(seen.filter((run) => run.startsWith("two"))).toEqual(["two 1", expect.stringMatching(/^two [23]$/)]));
  });

  it("are seen of Leases and Events, of which the API server has caches of another kind or none", async () => {
    await using world = await WatchedCluster.open(cluster(), patient);
    const namespace = await cluster().namespace("kinds");
    const leases = world.caches.watch(Lease, { namespace });
    const events = world.caches.watch(Event, { namespace });
    world.start();
    await Promise.all([leases.whenSynced(), events.whenSynced()]);
    const records: WriteRecord[] = [];
    const client = trackAnswers(cluster().client, (record) => records.push(record));
    await client.create(Lease, { metadata: { namespace, name: "a" }, spec: { holderIdentity: "x" } });
    await client.mergePatch(Lease, { namespace, name: "a" }, { spec: { holderIdentity: "y" } }, { answer: "metadata" });
    const about = { regarding: { kind: "ConfigMap", namespace, name: "a" }, type: "Normal" as const, reason: "R", action: "A" };
    const by = { reportingController: "x.io/c", reportingInstance: "i", eventTime: "2026-01-01T00:00:00.500000Z" };
    await client.create(Event, { metadata: { namespace, name: "a" }, ...about, ...by });
    for (const cache of [leases, events]) for (const record of records) await world.caches.whenObserved(cache, record);
    expect([leases.get(`${namespace}/a`)?.spec?.holderIdentity, events.get(`${namespace}/a`)?.reason]).toEqual(["y", "R"]);
  });

  it("hold nothing up after a restore from a backup, and the cache shows what was restored", async () => {
    const { apiServer, etcd, client, folder } = cluster();
    const { etcdData } = clusterFilesIn(folder);
    await using world = await WatchedCluster.open(cluster(), impatient);
    const namespace = await cluster().namespace("restore");
    const kept = await client.create(ConfigMap, { metadata: { namespace, name: "kept" }, data: { state: "old" } });
    const cache = world.caches.watch(ConfigMap, { namespace });
    world.start();
    await cache.whenSynced();
    const whileDown = async (act: () => Promise<void>): Promise<void> => {
      await apiServer.stop();
      await etcd.stop();
      await act();
      await etcd.start();
      await apiServer.start();
    };
    await whileDown(() => cp(etcdData, `${etcdData}.backup`, { recursive: true }));
    await client.mergePatch(ConfigMap, { namespace, name: "kept" }, { data: { state: "new" } });
    let last = kept;
    for (let i = 0; i < 50; i++) last = await client.create(ConfigMap, { metadata: { namespace, name: `lost-${i}` } });
    await world.caches.whenObserved(cache, recordOf(last));
    expect(cache.size).toBe(51);

    await whileDown(async () => {
      await rm(etcdData, { recursive: true });
      await cp(`${etcdData}.backup`, etcdData, { recursive: true });
    });
    // A write that the restored server has forgotten.
    const { metadata, ...rest } = last;
    await world.caches.whenObserved(cache, recordOf({ ...rest, metadata: { ...metadata, resourceVersion: `${metadata.resourceVersion}0` } }));
    await world.whenEqual(cache, ConfigMap, namespace);
    expect([...cache.entries()].map(([key, { data }]) => [key, data])).toEqual([[`${namespace}/kept`, { state: "old" }]]);
    const written = await client.mergePatch(ConfigMap, { namespace, name: "kept" }, { data: { state: "again" } });
    expect(Number(written.metadata.resourceVersion)).toBeLessThan(Number(last.metadata.resourceVersion));
    await world.caches.whenObserved(cache, recordOf(written));
    expect(cache.get(`${namespace}/kept`)?.data).toEqual({ state: "again" });
  });
});
