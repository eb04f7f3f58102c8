// Both ways to a first list, what happens while a watch is away, and what is said of a watch that may not or cannot be.
import { ConfigMap, Secret, ServiceAccount, createHttpTransport, defineKind, loadConfig } from "@keyturn/runtime";
import { answerWith, refuseSendInitialEvents, withholdEndBookmark } from "@keyturn/runtime/testing";
import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { soon, useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import type { Change } from "../../src/cache/cache.ts";
import { watchSource } from "../../src/watch/reflector.ts";
import { impatient, patient, WatchedCluster } from "./watched-cluster.ts";

const cluster = useSharedApiServer();

async function makeObjects(kind: typeof ConfigMap | typeof ServiceAccount, count: number): Promise<string> {
  const namespace = await cluster().namespace("ways");
  const names = Array.from({ length: count }, (_, i) => `object-${i}`);
  await Promise.all(names.map((name) => cluster().client.create(kind, { metadata: { namespace, name } })));
  return namespace;
}

describe("ways in", () => {
  it("takes the WatchList where there is one: no list is made", async () => {
    await using world = await WatchedCluster.open(cluster(), patient);
    const namespace = await makeObjects(ConfigMap, 120);
    const cache = world.caches.watch(ConfigMap, { namespace });
    world.start();
    await world.whenEqual(cache, ConfigMap, namespace);
    expect(world.proxy.requests({ path: /limit=/ })).toEqual([]);
  });

  it.each([400, 422] as const)("lists in pages where the server answers %i", async (status) => {
    await using world = await WatchedCluster.open(cluster(), patient);
    world.proxy.inject(refuseSendInitialEvents({ status }));
    const namespace = await makeObjects(ConfigMap, 120);
    const cache = world.caches.watch(ConfigMap, { namespace });
    world.start();
    await world.whenEqual(cache, ConfigMap, namespace);
    expect(world.proxy.requests({ path: /limit=50/ })).toHaveLength(3);
    await cluster().client.create(ConfigMap, { metadata: { namespace, name: "later" } });
    await soon(() => expect(cache.get(`${namespace}/later`)).toBeDefined());
  });

  it("lists in pages where the end bookmark never comes", async () => {
    await using world = await WatchedCluster.open(cluster(), impatient);
    world.proxy.inject(withholdEndBookmark());
    const namespace = await makeObjects(ServiceAccount, 120);
    const cache = world.caches.watch(ServiceAccount, { namespace });
    world.start();
    await world.whenEqual(cache, ServiceAccount, namespace);
    // A page for which a busy machine takes its time is asked for again.
    expect(world.proxy.requests({ path: /limit=50/ }).length).toBeGreaterThanOrEqual(3);
  });
});

describe("while away", () => {
  it("deletes and recreations are seen as what they are, and what stayed is no change", async () => {
    await using world = await WatchedCluster.open(cluster(), patient);
    const { client } = cluster();
    const namespace = await makeObjects(ConfigMap, 4);
    const cache = world.caches.watch(ConfigMap, { namespace });
    world.start();
    await world.whenEqual(cache, ConfigMap, namespace);
    const changes: Change<ConfigMap>[] = [];
    cache.subscribe((change) => void changes.push(change));
    changes.length = 0;
    await world.proxy.refuseConnections();
    world.proxy.cut();
    await client.delete(ConfigMap, { namespace, name: "object-0" });
    await client.delete(ConfigMap, { namespace, name: "object-1" });
    await client.create(ConfigMap, { metadata: { namespace, name: "object-1" }, data: { again: "yes" } });
    await client.mergePatch(ConfigMap, { namespace, name: "object-2" }, { data: { changed: "yes" } });
    // The history is gone too, so only a new list can tell.
    world.proxy.inject(answerWith({ status: 410 }, { watch: true, path: /resourceVersion=/, times: 1 }));
    await world.proxy.listen();
    await world.whenEqual(cache, ConfigMap, namespace);
    expect(changes.map(({ type, key }) => `${type} ${key.split("/")[1] ?? ""}`).sort()).toEqual([
      "deleted object-0",
      "replaced object-1",
      "updated object-2",
    ]);
  });
});

describe("watches that cannot be", () => {
  it("name the right that is missing and go on when it is granted", async () => {
    const namespace = await makeObjects(ConfigMap, 1);
    const serviceAccount = { namespace, name: "operator" };
    const kubeconfig = await cluster().kubeconfigFor({ serviceAccount, rules: [] });
    await using world = await WatchedCluster.open(cluster(), patient, kubeconfig);
    const cache = world.caches.watch(ConfigMap, { namespace });
    const secrets = world.caches.watch(Secret, { whole: true });
    world.start();
    await soon(() => {
      expect(world.caches.statusOf(cache).state).toEqual({ type: "forbidden", rule: `watch configmaps in namespace ${namespace}` });
      expect(world.caches.statusOf(secrets).state).toEqual({ type: "forbidden", rule: "watch secrets in the cluster" });
    });
    await cluster().kubeconfigFor({ serviceAccount, rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"] }] });
    await world.whenEqual(cache, ConfigMap, namespace);
  });

  it("wait for a kind that is not installed yet and start when it is", async () => {
    await using world = await WatchedCluster.open(cluster(), patient);
    const Gizmo = defineKind({ group: "watch.example.com", version: "v1", kind: "Gizmo", plural: "gizmos", namespaced: true });
    const cache = world.caches.watch(Gizmo);
    world.start();
    await soon(() => expect(world.caches.statusOf(cache).state).toEqual({ type: "missing" }));
    const definition = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "gizmos.watch.example.com" },
      spec: {
        group: Gizmo.group,
        scope: "Namespaced",
        names: { kind: "Gizmo", plural: "gizmos" },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      },
    };
    await cluster().apply(definition);
    const namespace = await cluster().namespace("gizmo");
    await cluster().client.create(Gizmo, { apiVersion: "watch.example.com/v1", kind: "Gizmo", metadata: { namespace, name: "one" } });
    await world.whenEqual(cache, Gizmo, namespace);
  });
});

describe("encodings", () => {
  it.each([Secret, ConfigMap])("$kind is the same from protobuf as from JSON", async (kind) => {
    const namespace = await cluster().namespace("encodings");
    const owner = await cluster().client.create(ConfigMap, { metadata: { namespace, name: "owner" } });
    const metadata = {
      namespace,
      name: "full",
      labels: { "app.kubernetes.io/name": "x", empty: "" },
      annotations: { note: "schlüssel 🔑 \n line", empty: "" },
      finalizers: ["example.com/one", "example.com/two"],
      ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid, controller: true, blockOwnerDeletion: false }],
    };
    const data = { ["__proto__"]: "", "a.b": Buffer.from("päss\0word").toString("base64"), empty: "" };
    await cluster().client.create(kind, { metadata, data, immutable: true });
    await cluster().client.create(kind, { metadata: { namespace, generateName: "bare-" } });
    await cluster().client.delete(kind, { namespace, name: "full" });
    const transport = createHttpTransport(await loadConfig({ kubeconfig: cluster().adminKubeconfig, env: {} }));
    try {
      for (const extent of ["whole", "metadata"] as const) {
        const source = watchSource(kind, { namespace }, extent);
        const page = async (accept: string): Promise<{ readonly type: string; readonly objects: readonly object[] }> => {
          const response = await transport.send({ ...source.pageRequest(500, undefined), headers: { accept } });
          const type = response.headers["content-type"] ?? "";
          return { type, objects: [...source.decodePage(type, await buffer(Readable.from(response.body))).objects] };
        };
        const [protobufType = "", jsonType = ""] = (source.pageRequest(500, undefined).headers?.["accept"] ?? "").split(",");
        const [protobuf, json] = [await page(protobufType), await page(jsonType)];
        expect([protobuf.type, json.type]).toEqual([expect.stringContaining("protobuf"), expect.stringContaining("json")]);
        expect(protobuf.objects).toEqual(json.objects);
        expect(protobuf.objects.length).toBeGreaterThanOrEqual(2);
      }
    } finally {
      transport.close();
    }
  });
});
