// What caches keep of the objects that they are sent, and who shares them.
import { expect, it } from "vitest";
import { Secret } from "../client/builtin-kinds.ts";
import { defineKind, type Kind } from "../client/kind.ts";
import { bookmarkLine, objectLine } from "../watch/scripted-server.fixture.ts";
import type { Cache } from "./cache.ts";
import { scriptedCaches, type Widget, widgets, written } from "./cache-registry.fixture.ts";

it("keeps what `keep` makes; what it throws for is marked and logged without its words, and what was kept before stays, also over a relist", async () => {
  const { server, log, caches, stop, settle } = scriptedCaches();
  const keep = (widget: Widget): number => {
    if (widget.spec?.size === undefined) throw new TypeError(`no size in ${JSON.stringify(widget)}`);
    return widget.spec.size;
  };
  const sizes = caches.watch(widgets, { keep, indexes: { bySize: (size) => [String(size)] } });
  const strict = caches.watch(widgets, { keep, unreadable: "error" });
  const heard: string[] = [];
  sizes.subscribe(({ type, key }) => heard.push(`${type} ${key}`));
  sizes.unreadable?.subscribe((key) => heard.push(`unreadable ${key}`));
  caches.start(stop.signal);
  await settle();
  server.last.answer(200);
  server.last.line(objectLine("ADDED", "a", "1", { spec: { size: 3 } }));
  server.last.line(objectLine("ADDED", "b", "2", { password: "hunter2" }));
  server.last.line(bookmarkLine("2", true));
  await sizes.whenSynced();
  expect([...sizes.entries()]).toEqual([["ns/a", 3]]);
  expect(sizes.byIndex("bySize", "3")).toEqual(["ns/a"]);
  expect(sizes.get("ns/b")).toBeUndefined();
  expect(() => strict.get("ns/b")).toThrow(/^Widget ns\/b cannot be read \(TypeError\)/);
  server.last.line(objectLine("MODIFIED", "a", "3", { password: "hunter2" }));
  await settle();
  expect(strict.get("ns/a")).toBe(3);
  expect(sizes.identity("ns/a")?.resourceVersion).toBe("1");
  expect(sizes.byIndex("bySize", "3")).toEqual(["ns/a"]);
  expect(caches.statusOf(sizes)).toMatchObject({ objects: 1, unreadable: 2 });

  server.last.line({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
  await settle();
  server.last.answer(200);
  server.last.line(objectLine("ADDED", "a", "3", { password: "hunter2" }));
  server.last.line(bookmarkLine("9", true));
  await settle();
  expect([...sizes.entries()]).toEqual([["ns/a", 3]]);
  expect(Array.from(sizes.unreadable?.keys() ?? [])).toEqual(["ns/a"]);
  server.last.line(objectLine("MODIFIED", "a", "10", { spec: { size: 4 } }));
  await settle();
  expect(strict.get("ns/a")).toBe(4);
  expect(Array.from(sizes.unreadable?.keys() ?? [])).toEqual([]);
  expect(heard).toEqual(["added ns/a", "unreadable ns/b", "unreadable ns/a", "updated ns/a"]);
  // Each state of an object once, however often it is listed.
  expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(2);
  expect(JSON.stringify(log.lines)).not.toContain("hunter2");
  const untyped: Cache<number> = sizes;
  expect(() => untyped.byIndex("byColour", "red")).toThrow(/no index "byColour"/);
  expect(() => caches.watch(Secret as Kind)).toThrow(/needs `keep`, `only` or `whole: true`/);
});

it("forgets an object that could never be read once it is deleted, and does not take the last value of one for another of the same name", async () => {
  const { server, caches, stop, settle } = scriptedCaches();
  const keep = (widget: Widget): number => {
    if (widget.spec?.size === undefined) throw new TypeError("no size");
    return widget.spec.size;
  };
  const sizes = caches.watch(widgets, { keep, unreadable: "error" });
  const heard: string[] = [];
  sizes.subscribe(({ type, key }) => heard.push(`${type} ${key}`));
  caches.start(stop.signal);
  await settle();
  server.last.answer(200);
  server.last.line(objectLine("ADDED", "a", "1", { spec: { size: 3 } }));
  server.last.line(objectLine("ADDED", "b", "2", {}));
  server.last.line(bookmarkLine("2", true));
  await sizes.whenSynced();
  server.last.line(objectLine("DELETED", "b", "3", {}));
  await settle();
  expect(Array.from(sizes.unreadable?.keys() ?? [])).toEqual([]);
  expect(sizes.get("ns/b")).toBeUndefined();

  server.last.line({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
  await settle();
  server.last.answer(200);
  server.last.line(objectLine("ADDED", "a", "8", { metadata: { namespace: "ns", name: "a", uid: "another", resourceVersion: "8" } }));
  server.last.line(bookmarkLine("9", true));
  await settle();
  expect(sizes.identity("ns/a")).toBeUndefined();
  expect(() => sizes.get("ns/a")).toThrow("cannot be read");
  expect(heard).toEqual(["added ns/a", "deleted ns/a"]);
});

it("takes a `keep` that gives a promise for one that throws: what it rejects with would end the process", async () => {
  const { server, log, caches, stop, settle } = scriptedCaches();
  const sizes = caches.watch(widgets, { keep: async ({ spec }: Widget) => spec?.size ?? Promise.reject(new Error("no size")) });
  caches.start(stop.signal);
  await settle();
  server.last.answer(200);
  server.last.line(objectLine("ADDED", "a", "1", { spec: { size: 3 } }));
  server.last.line(objectLine("ADDED", "b", "2", {}));
  server.last.line(bookmarkLine("2", true));
  await sizes.whenSynced();
  expect(Array.from(sizes.unreadable?.keys() ?? [])).toEqual(["ns/a", "ns/b"]);
  expect(sizes.size).toBe(0);
  expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(2);
});

it("does not log what a listener or an index throws, only where", async () => {
  const { server, log, caches, stop, settle } = scriptedCaches();
  const fail = (value: object): never => {
    throw new Error(`cannot use\n    at ${JSON.stringify(value)}`);
  };
  const cache = caches.watch(widgets);
  cache.subscribe(fail);
  const keep = (widget: Widget): Widget => widget;
  caches.watch(widgets, { keep, indexes: { bad: fail } });
  caches.start(stop.signal);
  await settle();
  for (const exchange of server.exchanges) {
    exchange.answer(200);
    exchange.line(objectLine("ADDED", "a", "1", { password: "hunter2" }));
    exchange.line(bookmarkLine("1", true));
  }
  await settle();
  expect(cache.synced).toBe(true);
  expect(log.lines.map(({ message }) => message?.split(/[:;]/)[0])).toEqual(["an index threw", "a cache listener threw"]);
  expect(JSON.stringify(log.lines)).not.toContain("hunter2");
  expect(JSON.stringify(log.lines)).toContain("kept-objects.test.ts");
});

it("shares a watch between those who want the same, and shows the cost of those who do not", async () => {
  const { server, caches, stop, settle } = scriptedCaches();
  const names = (widget: Widget): string | undefined => widget.metadata.name;
  const one = caches.watch(widgets, { keep: names, indexes: { by: () => ["one"] } });
  const two = caches.watch(widgets, { keep: names, indexes: { by: () => ["two"] } });
  caches.watch(widgets, { only: "metadata" });
  caches.watch(widgets, { namespace: "ns" });
  caches.start(stop.signal);
  await settle();
  expect(server.exchanges).toHaveLength(3);
  const [first] = server.exchanges;
  first?.answer(200);
  first?.line(objectLine("ADDED", "a", "1"));
  first?.line(bookmarkLine("1", true));
  await settle();
  expect([one.byIndex("by", "one"), one.byIndex("by", "two"), two.byIndex("by", "two")]).toEqual([["ns/a"], [], ["ns/a"]]);
  expect(caches.statuses().map(({ keep, objects, namespace }) => ({ keep, objects, namespace }))).toEqual([
    { keep: "names", objects: 1, namespace: undefined },
    { keep: "metadata", objects: 0, namespace: undefined },
    { keep: "whole", objects: 0, namespace: "ns" },
  ]);
  expect(caches.statusOf(one).receivedBytes).toBeGreaterThan(100);
  expect(server.exchanges[1]?.request.headers?.["accept"]).toContain("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
  // One that is declared later starts at once.
  caches.watch(widgets, { labels: "late" });
  await settle();
  expect(server.exchanges).toHaveLength(4);
});

it("joins several namespaces into one cache", async () => {
  const { server, caches, stop, settle } = scriptedCaches(["ns", "other", "ns"]);
  const cache = caches.watch(widgets, { indexes: { all: () => ["x"] } });
  const seen: string[] = [];
  cache.subscribe((change) => void seen.push(change.key));
  caches.start(stop.signal);
  await settle();
  const [first, second] = server.exchanges;
  for (const exchange of [first, second]) exchange?.answer(200);
  first?.line(objectLine("ADDED", "a", "1"));
  first?.line(bookmarkLine("1", true));
  await settle();
  expect([cache.synced, caches.statusOf(cache).state.type]).toEqual([false, "syncing"]);
  second?.line({ type: "ADDED", object: { metadata: { namespace: "other", name: "b", uid: "u", resourceVersion: "1" } } });
  second?.line(bookmarkLine("1", true));
  await cache.whenSynced();
  expect(cache.byIndex("all", "x")).toEqual(["ns/a", "other/b"]);
  expect([cache.size, seen, [...cache.entries("other")].length]).toEqual([2, ["ns/a", "other/b"], 1]);
  expect([cache.get("other/b")?.metadata.name, cache.identity("ns/a")?.uid, cache.get("ns/b")]).toEqual(["b", "uid-a", undefined]);
  expect(caches.statusOf(cache)).toMatchObject({ objects: 2, synced: true, state: { type: "live" } });
  await caches.whenObserved(cache, written("a", "1"));
  await caches.whenObserved(cache, { ...written("a", "900"), key: "third/a" });
});

it("limits to one namespace what names none, and nothing else", async () => {
  const { server, caches, stop, settle } = scriptedCaches(["ns"]);
  expect(caches.watch(widgets).selection).toEqual({ namespace: "ns" });
  caches.watch(widgets, { namespace: "elsewhere" });
  caches.watch(defineKind<Widget>({ ...widgets, plural: "nodes", namespaced: false }));
  caches.start(stop.signal);
  await settle();
  expect(server.exchanges.map(({ request }) => request.path.split("?")[0])).toEqual([
    "/apis/example.com/v1/namespaces/ns/widgets",
    "/apis/example.com/v1/namespaces/elsewhere/widgets",
    "/apis/example.com/v1/nodes",
  ]);
});
