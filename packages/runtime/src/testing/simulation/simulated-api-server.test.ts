// Tests of what the differential test against a real server does not reach: lists in pages, watches, compaction, restores, garbage.
import { describe, expect, test } from "vitest";
import { ConfigMap, Namespace, Secret } from "../../client/builtin-kinds.ts";
import { collectionPath, defineKind, objectPath } from "../../client/kind.ts";
import type { TransportRequest } from "../../client/transport.ts";
import { seededRandom } from "../../random.ts";
import { VirtualClock } from "../virtual-clock.ts";
import { collectGarbage } from "./garbage-collector.ts";
import { type JsonObject, listOr, objectOr, parseObject, stringOr } from "../../json.ts";
import { SimulatedApiServer } from "./simulated-api-server.ts";
import type { ServeOptions } from "./simulated-api-server.ts";
import type { WatchSession } from "./watch-sessions.ts";

const path = collectionPath(ConfigMap, "default");

function newServer(): SimulatedApiServer {
  return new SimulatedApiServer({ clock: new VirtualClock(), random: seededRandom(1), revision: 100 });
}

function answer(
  server: SimulatedApiServer,
  request: TransportRequest,
  options?: ServeOptions,
): { readonly status: number; readonly body: JsonObject } {
  const result = server.handle(request, options);
  if (result.type !== "answer") throw new Error("expected an answer, got a watch");
  return { status: result.status, body: parseObject(result.body) ?? {} };
}

const get = (server: SimulatedApiServer, query: string, accept = ""): ReturnType<typeof answer> =>
  answer(server, { method: "GET", path: query, headers: { accept } });

function watch(server: SimulatedApiServer, query: string, options?: ServeOptions): WatchSession {
  const result = server.handle({ method: "GET", path: `${path}?watch=1&${query}` }, options);
  if (result.type !== "watch") throw new Error(`expected a watch, got ${result.body}`);
  return result.session;
}

function seed(server: SimulatedApiServer, name: string, metadata: object = {}): JsonObject {
  return server.seed({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default", ...metadata } });
}

function remove(server: SimulatedApiServer, name: string): void {
  answer(server, { method: "DELETE", path: `${path}/${name}` });
}

const versionOf = (object: JsonObject): string => stringOr(objectOr(object["metadata"])["resourceVersion"], "");
const namesOf = (list: JsonObject): readonly unknown[] => listOr(list["items"]).map((item) => objectOr(objectOr(item)["metadata"])["name"]);

/** What a watch says, one word per event. */
function events(session: WatchSession): readonly string[] {
  return session.read().lines.map((line) => {
    const { type, object } = parseObject(line) ?? {};
    const { name, annotations } = objectOr(objectOr(object)["metadata"]);
    return `${stringOr(type, "")} ${stringOr(name, JSON.stringify(objectOr(object)["code"] ?? annotations ?? {}))}`;
  });
}

describe("lists", () => {
  test("come in pages of one revision, whatever is written in between, and expire with it", () => {
    const server = newServer();
    for (const name of ["c", "a", "d", "b"]) seed(server, name);
    const first = get(server, `${path}?limit=2`).body;
    expect(namesOf(first)).toEqual(["a", "b"]);
    expect(first["metadata"]).toMatchObject({ remainingItemCount: 2 });
    remove(server, "d");
    seed(server, "e");
    const next = `${path}?limit=2&continue=${stringOr(objectOr(first["metadata"])["continue"], "")}`;
    expect(namesOf(get(server, next).body)).toEqual(["c", "d"]);
    server.store.compact(server.store.revision);
    expect(get(server, next)).toMatchObject({ status: 410, body: { reason: "Expired" } });
  });

  test("select by labels and by fields, and refuse what they do not understand", () => {
    const server = newServer();
    seed(server, "a", { labels: { app: "x", tier: "db" } });
    seed(server, "b", { labels: { app: "y" } });
    seed(server, "c");
    const select = (selector: string): readonly unknown[] => namesOf(get(server, `${path}?labelSelector=${encodeURIComponent(selector)}`).body);
    expect(select("app=x")).toEqual(["a"]);
    expect(select("app!=x")).toEqual(["b", "c"]);
    expect(select("app in (x, y),tier")).toEqual(["a"]);
    expect(select("app notin (x),!tier")).toEqual(["b", "c"]);
    expect(namesOf(get(server, `${path}?fieldSelector=metadata.name%3Db`).body)).toEqual(["b"]);
    expect(get(server, `${path}?labelSelector=a%3Db%3Dc`).status).toBe(400);
    expect(get(server, `${path}?fieldSelector=data.a%3Db`).status).toBe(400);
  });

  test("of metadata alone carry no data, and must be asked for as lists", () => {
    const server = newServer();
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace: "default" }, data: { key: "aGVsbG8=" } };
    server.seed(secret);
    const secrets = collectionPath(Secret, "default");
    const list = get(server, secrets, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").body;
    expect(list).toMatchObject({ kind: "PartialObjectMetadataList", items: [{ kind: "PartialObjectMetadata", metadata: { name: "s" } }] });
    expect(JSON.stringify(list)).not.toContain("aGVsbG8");
    expect(get(server, secrets, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").status).toBe(406);
  });

  test("may be stale if the client says that it does not mind, and never otherwise", () => {
    const server = newServer();
    seed(server, "a");
    seed(server, "b");
    const lagging = (query: string): readonly unknown[] => namesOf(answer(server, { method: "GET", path: `${path}${query}` }, { cacheLag: 1 }).body);
    expect(lagging("?resourceVersion=0")).toEqual(["a"]);
    expect(lagging("")).toEqual(["a", "b"]);
  });
});

describe("writes", () => {
  test("are made before they are shown, also to those who ask for a list", () => {
    const server = newServer();
    const create = (name: string, as: string): ReturnType<typeof answer> =>
      answer(server, {
        method: "POST",
        path,
        headers: { accept: `application/json;as=${as};g=meta.k8s.io;v=v1` },
        body: JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { key: "value" } }),
      });
    expect(create("a", "PartialObjectMetadata").body).toEqual({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: objectOr(server.store.get("configmaps", "default/a")?.["metadata"]),
    });
    expect(create("b", "PartialObjectMetadataList").status).toBe(406);
    expect(server.store.get("configmaps", "default/b")).toMatchObject({ data: { key: "value" } });
  });
});

describe("watches", () => {
  const watchList = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

  test("send the collection, its end, and then what changes", () => {
    const server = newServer();
    seed(server, "a");
    const session = watch(server, watchList);
    expect(events(session)).toEqual(["ADDED a", 'BOOKMARK {"k8s.io/initial-events-end":"true"}']);
    seed(server, "b");
    remove(server, "a");
    expect(events(session)).toEqual(["ADDED b", "DELETED a"]);
    expect(session.bookmark()).toContain(`"resourceVersion":"${server.store.revision}"`);
  });

  test("resume after a version, and show what leaves the selection as deleted", () => {
    const server = newServer();
    const version = versionOf(seed(server, "a", { labels: { app: "x" } }));
    const session = watch(server, `resourceVersion=${version}&labelSelector=app%3Dx`);
    const relabel = (app: string): void => {
      const headers = { "content-type": "application/merge-patch+json" };
      answer(server, { method: "PATCH", path: `${path}/a`, headers, body: JSON.stringify({ metadata: { labels: { app } } }) });
    };
    relabel("y");
    relabel("x");
    expect(events(session)).toEqual(["DELETED a", "ADDED a"]);
  });

  test("end with 410 when what they need is forgotten", () => {
    const server = newServer();
    const version = versionOf(seed(server, "a"));
    const open = watch(server, `resourceVersion=${version}`);
    seed(server, "b");
    server.store.compact(server.store.revision);
    expect(events(open)).toEqual(["ERROR 410"]);
    expect(events(watch(server, `resourceVersion=${version}`))).toEqual(["ERROR 410"]);
  });

  test("from a version that a restore took away stay silent, as those of a real server do", () => {
    const server = newServer();
    const backup = server.store.backup();
    const version = versionOf(seed(server, "a"));
    seed(server, "b");
    server.store.restore(backup);
    expect(get(server, `${path}?resourceVersion=${version}`)).toMatchObject({
      status: 504,
      body: { details: { causes: [{ reason: "ResourceVersionTooLarge" }] } },
    });
    const session = watch(server, `resourceVersion=${version}&allowWatchBookmarks=true`);
    seed(server, "c");
    expect(events(session)).toEqual([]);
    seed(server, "d");
    expect(events(session)).toEqual(["ADDED d"]);
  });
});

describe("kinds", () => {
  const widgets = defineKind({ group: "sim.keyturn.io", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });

  test("are not found until they are served, and go with their objects", () => {
    const server = newServer();
    expect(get(server, collectionPath(widgets)).status).toBe(404);
    server.serve(widgets);
    server.seed({ apiVersion: "sim.keyturn.io/v1", kind: "Widget", metadata: { name: "w", namespace: "default" } });
    expect(namesOf(get(server, collectionPath(widgets)).body)).toEqual(["w"]);
    server.unserve(widgets);
    server.serve(widgets);
    expect(namesOf(get(server, collectionPath(widgets)).body)).toEqual([]);
  });
});

describe("garbage", () => {
  const reference = (owner: JsonObject): object => {
    const { name, uid } = objectOr(owner["metadata"]);
    return { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name, uid }] };
  };

  test("is what has lost all its owners, also to another of the same name", () => {
    const server = newServer();
    const owner = seed(server, "owner");
    seed(server, "owned", reference(owner));
    collectGarbage(server);
    expect(server.store.get("configmaps", "default/owned")).toBeDefined();
    remove(server, "owner");
    seed(server, "owner");
    collectGarbage(server);
    expect(server.store.get("configmaps", "default/owned")).toBeUndefined();
  });

  test("goes before its owner with foreground deletion, and stays with orphaning", () => {
    for (const [propagationPolicy, left] of [
      ["Foreground", []],
      ["Orphan", ["owned"]],
    ] as const) {
      const server = newServer();
      seed(server, "owned", reference(seed(server, "owner")));
      answer(server, { method: "DELETE", path: `${path}/owner`, body: JSON.stringify({ propagationPolicy }) });
      expect(namesOf(get(server, path).body)).toEqual(["owned", "owner"]);
      for (let round = 0; round < 3; round += 1) collectGarbage(server);
      expect(namesOf(get(server, path).body)).toEqual(left);
    }
  });

  test("includes all of a namespace that is to go, which takes nothing new meanwhile", () => {
    const server = newServer();
    server.seed({ apiVersion: "v1", kind: "Namespace", metadata: { name: "gone" } });
    server.seed({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "gone", finalizers: ["x.io/y"] } });
    answer(server, { method: "DELETE", path: objectPath(Namespace, { name: "gone" }) });
    const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "b" } });
    expect(answer(server, { method: "POST", path: collectionPath(ConfigMap, "gone"), body }).status).toBe(403);
    collectGarbage(server);
    expect(server.store.get("configmaps", "gone/a")).toMatchObject({ metadata: { deletionTimestamp: expect.any(String) } });
    const headers = { "content-type": "application/merge-patch+json" };
    answer(server, { method: "PATCH", path: `${collectionPath(ConfigMap, "gone")}/a`, headers, body: '{"metadata":{"finalizers":null}}' });
    collectGarbage(server);
    expect(server.store.get("namespaces", "gone")).toBeUndefined();
  });
});
