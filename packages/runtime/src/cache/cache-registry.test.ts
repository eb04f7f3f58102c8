// The caches of a process against a server whose every answer is written by the test, in virtual time.
import { describe, expect, it } from "vitest";
import { defineKind } from "../client/kind.ts";
import type { KubeObject } from "../client/object.ts";
import type { WriteRecord } from "../client/write-record.ts";
import type { Logger } from "../observe/logger.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { ScriptedServer, bookmarkLine, listBody, objectLine } from "../watch/scripted-server.fixture.ts";
import { createCaches } from "./cache-registry.ts";

interface Widget extends KubeObject {
  readonly spec?: { readonly size?: number };
}
const widgets = defineKind<Widget>({ group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });

/** What the log was told, as `level: message`. */
class RecordingLog implements Logger {
  readonly lines: { readonly level: string; readonly fields: object; readonly message: string }[] = [];
  debug = (fields: object, message: string): void => void this.lines.push({ level: "debug", fields, message });
  info = (fields: object, message: string): void => void this.lines.push({ level: "info", fields, message });
  warn = (fields: object, message: string): void => void this.lines.push({ level: "warn", fields, message });
  error = (fields: object, message: string): void => void this.lines.push({ level: "error", fields, message });
  child = (): Logger => this;
}

function setUp(namespaces: readonly string[] = []) {
  const clock = new VirtualClock();
  const server = new ScriptedServer();
  const log = new RecordingLog();
  const caches = createCaches({ transport: server, clock, random: () => 0.5, log, namespaces });
  const stop = new AbortController();
  return { clock, server, log, caches, stop, settle: () => clock.advance(0) };
}

/** Answers the open WatchList with these objects. */
function answerStream(server: ScriptedServer, resourceVersion: string, names: readonly string[]): void {
  server.last.answer(200);
  for (const name of names) server.last.line(objectLine("ADDED", name, resourceVersion));
  server.last.line(bookmarkLine(resourceVersion, true));
}

const written = (name: string, resourceVersion: string, labels: Record<string, string> = {}): WriteRecord => ({
  type: "written",
  kind: widgets,
  key: `ns/${name}`,
  uid: `uid-${name}`,
  resourceVersion,
  labels,
});

describe("watching", () => {
  it("asks for a WatchList with bookmarks and a random server time-out, on the watch lane", async () => {
    const { server, caches, stop, settle } = setUp();
    caches.watch(widgets, { namespace: "ns", labels: "a=b", fields: "metadata.name=x" });
    caches.start(stop.signal);
    await settle();
    expect(server.last.request).toMatchObject({ method: "GET", lane: "watch" });
    expect(server.last.request.path).toContain("/apis/example.com/v1/namespaces/ns/widgets?");
    expect(Object.fromEntries(server.last.query)).toEqual({
      watch: "true",
      sendInitialEvents: "true",
      resourceVersionMatch: "NotOlderThan",
      allowWatchBookmarks: "true",
      timeoutSeconds: "450",
      labelSelector: "a=b",
      fieldSelector: "metadata.name=x",
    });
    stop.abort();
    await settle();
    expect(server.last.aborted).toBe(true);
  });

  it("goes through a refused WatchList, pages, a cut, a silence and a 410 with a full cache all along", async () => {
    const { clock, server, caches, stop, settle } = setUp();
    const cache = caches.watch(widgets);
    const changes: string[] = [];
    cache.subscribe((change) => void changes.push(`${change.type} ${change.key}`));
    caches.start(stop.signal);
    await settle();
    server.last.answer(400);
    server.last.end();
    await settle();
    expect(Object.fromEntries(server.last.query)).toEqual({ limit: "500" });
    server.last.answer(200);
    server.last.send(listBody("10", ["a", "b"], "next"));
    server.last.end();
    await settle();
    expect(server.last.query.get("continue")).toBe("next");
    expect(cache.synced).toBe(false);
    server.last.answer(200);
    server.last.send(listBody("10", ["c"]));
    server.last.end();
    await settle();
    expect(cache.synced).toBe(true);
    expect([...cache.entries()].map(([key]) => key)).toEqual(["ns/a", "ns/b", "ns/c"]);
    expect(cache.get("ns/a")).toMatchObject({ apiVersion: "example.com/v1", kind: "Widget" });
    expect(server.last.query.get("resourceVersion")).toBe("10");

    server.last.answer(200);
    server.last.line(objectLine("MODIFIED", "a", "11"));
    server.last.line(bookmarkLine("20"));
    await settle();
    expect(caches.statusOf(cache)).toMatchObject({ state: { type: "live" }, synced: true, objects: 3 });
    await clock.advance(10_000);
    server.last.cut();
    await settle();
    expect(caches.statusOf(cache).state).toEqual({ type: "retrying", error: "socket hang up" });
    expect(server.last.query.get("resourceVersion")).toBe("20");

    server.last.answer(200);
    server.last.line(bookmarkLine("25"));
    await clock.advance(150_000);
    expect(server.exchanges.at(-2)?.aborted).toBe(true);
    expect(server.last.query.get("resourceVersion")).toBe("25");
    server.last.answer(200);
    server.last.line({ type: "ERROR", object: { kind: "Status", code: 410, message: "too old resource version" } });
    await settle();
    // Refused once, the WatchList is not tried again.
    expect(server.last.query.get("limit")).toBe("500");
    expect(cache.size).toBe(3);
    server.last.answer(200);
    server.last.send(listBody("40", ["a", "d"]));
    server.last.end();
    await settle();
    expect([...cache.entries()].map(([key]) => key)).toEqual(["ns/a", "ns/d"]);
    expect(changes).toEqual(["added ns/a", "added ns/b", "added ns/c", "updated ns/a", "deleted ns/b", "deleted ns/c", "updated ns/a", "added ns/d"]);
  });

  it("says what right is missing, what kind is not there, and when all is well again; logs ever more rarely", async () => {
    const { clock, server, log, caches, stop, settle } = setUp();
    const cache = caches.watch(widgets, { namespace: "ns" });
    expect(caches.statusOf(cache).state).toEqual({ type: "idle" });
    caches.start(stop.signal);
    await settle();
    const refuse = async (status: number): Promise<void> => {
      server.last.answer(status);
      server.last.end();
      await clock.advance(30_000);
    };
    await refuse(403);
    expect(caches.statusOf(cache).state).toEqual({ type: "forbidden", rule: "watch widgets.example.com in namespace ns" });
    for (let i = 0; i < 7; i++) await refuse(404);
    expect(caches.statusOf(cache).state).toEqual({ type: "missing" });
    expect(log.lines.filter(({ level }) => level === "warn")).toHaveLength(4);
    server.last.answer(200);
    server.last.send(listBody("10", ["a"]));
    server.last.end();
    await settle();
    server.last.answer(200);
    await settle();
    expect(caches.statusOf(cache)).toMatchObject({ state: { type: "live" }, resource: "widgets.example.com", namespace: "ns", quietForMs: 0 });
    expect(log.lines.at(-1)).toMatchObject({ level: "info", message: "the watch is answered again" });
  });

  it("never drops the connection's failures on the floor: refused connections are retried until one works", async () => {
    const { clock, server, caches, stop, settle } = setUp();
    const cache = caches.watch(widgets);
    caches.start(stop.signal);
    await settle();
    for (let i = 0; i < 2; i++) {
      server.last.refuseConnection();
      await clock.advance(30_000);
    }
    expect(server.exchanges).toHaveLength(3);
    answerStream(server, "10", ["a"]);
    await cache.whenSynced();
    expect(cache.size).toBe(1);
  });
});

describe("keeping", () => {
  it("keeps what `keep` makes, leaves out and reports what it throws for, and does not log what was thrown", async () => {
    const { server, log, caches, stop, settle } = setUp();
    const sizes = caches.watch(widgets, {
      keep: (widget) => {
        if (widget.spec?.size === undefined) throw new Error(`no size in ${JSON.stringify(widget)}`);
        return widget.spec.size;
      },
      indexes: { bySize: (size) => [String(size)] },
    });
    caches.start(stop.signal);
    await settle();
    server.last.answer(200);
    server.last.line(objectLine("ADDED", "a", "1", { spec: { size: 3 } }));
    server.last.line(objectLine("ADDED", "b", "2", { password: "hunter2" }));
    server.last.line(bookmarkLine("2", true));
    await sizes.whenSynced();
    expect([...sizes.entries()]).toEqual([["ns/a", 3]]);
    expect(sizes.byIndex("bySize", "3")).toEqual(["ns/a"]);
    server.last.line(objectLine("MODIFIED", "a", "3", { password: "hunter2" }));
    await settle();
    expect(sizes.size).toBe(0);
    expect(log.lines).toHaveLength(2);
    expect(JSON.stringify(log.lines)).not.toContain("hunter2");
    expect(() => sizes.byIndex("byColour", "red")).toThrow(/no index "byColour"/);
  });

  it("does not log what a listener or an index throws, only where", async () => {
    const { server, log, caches, stop, settle } = setUp();
    const fail = (value: object): never => {
      throw new Error(`cannot use\n    at ${JSON.stringify(value)}`);
    };
    const cache = caches.watch(widgets, { indexes: { bad: fail } });
    cache.subscribe(fail);
    caches.start(stop.signal);
    await settle();
    server.last.answer(200);
    server.last.line(objectLine("ADDED", "a", "1", { password: "hunter2" }));
    server.last.line(bookmarkLine("1", true));
    await cache.whenSynced();
    expect(log.lines.map(({ message }) => message)).toEqual(["a cache index threw; the cache goes on", "a cache listener threw; the cache goes on"]);
    expect(JSON.stringify(log.lines)).not.toContain("hunter2");
    expect(JSON.stringify(log.lines)).toContain("cache-registry.test.ts");
  });

  it("shares a watch between those who want the same, and shows the cost of those who do not", async () => {
    const { server, caches, stop, settle } = setUp();
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
    const { server, caches, stop, settle } = setUp(["ns", "other", "ns"]);
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
    await caches.whenSeen(cache, written("a", "1"));
    await caches.whenSeen(cache, { ...written("a", "900"), key: "third/a" });
  });

  it("limits to one namespace what names none, and nothing else", async () => {
    const { server, caches, stop, settle } = setUp(["ns"]);
    expect(caches.watch(widgets).selection).toEqual({ namespace: "ns" });
    caches.watch(widgets, { namespace: "elsewhere" });
    caches.watch(defineKind({ ...widgets, plural: "nodes", namespaced: false }));
    caches.start(stop.signal);
    await settle();
    expect(server.exchanges.map(({ request }) => request.path.split("?")[0])).toEqual([
      "/apis/example.com/v1/namespaces/ns/widgets",
      "/apis/example.com/v1/namespaces/elsewhere/widgets",
      "/apis/example.com/v1/nodes",
    ]);
  });
});

describe("own writes", () => {
  /** True once `promise` is resolved. */
  const watchPromise = (promise: Promise<boolean>): { readonly done: boolean } => {
    const outcome = { done: false };
    promise.then(
      () => (outcome.done = true),
      () => undefined,
    );
    return outcome;
  };

  async function live(labels?: string) {
    const parts = setUp();
    const cache = parts.caches.watch(widgets, labels === undefined ? {} : { labels });
    parts.caches.start(parts.stop.signal);
    await parts.settle();
    answerStream(parts.server, "100", ["a"]);
    await cache.whenSynced();
    return { ...parts, cache };
  }

  it("are seen when their event, a later one or a bookmark has come", async () => {
    const { server, caches, cache, settle } = await live();
    await caches.whenSeen(cache, written("a", "99"));
    const own = watchPromise(caches.whenSeen(cache, written("a", "105")));
    const created = watchPromise(caches.whenSeen(cache, written("b", "107")));
    server.last.line(objectLine("MODIFIED", "a", "101"));
    await settle();
    expect([own.done, created.done]).toEqual([false, false]);
    server.last.line(objectLine("MODIFIED", "a", "105"));
    await settle();
    expect([own.done, created.done]).toEqual([true, false]);
    server.last.line(bookmarkLine("110"));
    await settle();
    expect(created.done).toBe(true);
  });

  it("do not wait in caches that do not cover them", async () => {
    const { caches, cache } = await live("app=web");
    const otherKind = { ...written("x", "900", { app: "web" }), kind: defineKind({ ...widgets, plural: "gadgets" }) };
    const elsewhere = caches.watch(widgets, { namespace: "elsewhere" });
    await expect(caches.whenSeen(cache, written("x", "900", { app: "db" }))).resolves.toBe(true);
    await expect(caches.whenSeen(cache, otherKind)).resolves.toBe(true);
    await expect(caches.whenSeen(elsewhere, written("x", "900"))).resolves.toBe(true);
    const single = caches.watch(widgets, { namespace: "ns", fields: "spec.size!=3,metadata.name=a" });
    await expect(caches.whenSeen(single, written("x", "900"))).resolves.toBe(true);
  });

  it("that take an object out of the selection are seen when it is gone", async () => {
    const { server, caches, cache, settle } = await live("app=web");
    const seen = watchPromise(caches.whenSeen(cache, written("a", "105", { app: "db" })));
    await settle();
    expect(seen.done).toBe(false);
    server.last.line(objectLine("DELETED", "a", "105"));
    await settle();
    expect([seen.done, cache.size]).toEqual([true, 0]);
  });

  it("that delete are seen when the object is gone or another has its name", async () => {
    const { server, caches, cache, settle } = await live();
    const deleted = { type: "deleted", kind: widgets, key: "ns/a", uid: "uid-a" } as const;
    const seen = watchPromise(caches.whenSeen(cache, deleted));
    server.last.line(objectLine("MODIFIED", "a", "101"));
    await settle();
    expect(seen.done).toBe(false);
    server.last.line(objectLine("DELETED", "a", "102"));
    await settle();
    expect(seen.done).toBe(true);
    await caches.whenSeen(cache, deleted);
  });

  it("that delete what was made a moment before are not seen before it has come and gone", async () => {
    const { server, caches, cache, settle } = await live();
    const made = watchPromise(caches.whenSeen(cache, written("b", "105")));
    const deleted = watchPromise(caches.whenSeen(cache, { type: "deleted", kind: widgets, key: "ns/b", uid: "uid-b" }));
    await settle();
    expect([made.done, deleted.done]).toEqual([false, false]);
    server.last.line(objectLine("ADDED", "b", "105"));
    await settle();
    expect([made.done, deleted.done]).toEqual([true, false]);
    server.last.line(objectLine("DELETED", "b", "106"));
    await settle();
    expect(deleted.done).toBe(true);
  });

  it("are settled by a list that began after them, even if resourceVersions went backwards", async () => {
    const { clock, server, caches, cache, settle } = await live();
    const seen = watchPromise(caches.whenSeen(cache, written("a", "105")));
    server.last.line({ type: "ERROR", object: { code: 410, message: "restored" } });
    await clock.advance(1_000);
    expect(server.last.query.get("sendInitialEvents")).toBe("true");
    answerStream(server, "50", ["a"]);
    await settle();
    expect(seen.done).toBe(true);
    // And what is written to the restored server is compared with its own counting.
    const next = watchPromise(caches.whenSeen(cache, written("a", "60")));
    await settle();
    expect(next.done).toBe(false);
    server.last.line(objectLine("MODIFIED", "a", "60"));
    await settle();
    expect(next.done).toBe(true);
  });

  it("are not settled by a list that was under way before them", async () => {
    const { server, caches, stop, settle } = setUp();
    const cache = caches.watch(widgets);
    caches.start(stop.signal);
    await settle();
    server.last.answer(200);
    await settle();
    const seen = watchPromise(caches.whenSeen(cache, written("a", "105")));
    server.last.line(bookmarkLine("104", true));
    await settle();
    expect(seen.done).toBe(false);
    server.last.line(bookmarkLine("106"));
    await settle();
    expect(seen.done).toBe(true);
  });

  it("that the server has forgotten, or whose resourceVersions cannot be compared, hold nothing up beyond two bookmarks", async () => {
    const { server, caches, cache, settle } = await live();
    const forgotten = watchPromise(caches.whenSeen(cache, written("a", "9000")));
    const opaque = watchPromise(caches.whenSeen(cache, written("a", "x-17")));
    server.last.line(bookmarkLine("110"));
    await settle();
    expect([forgotten.done, opaque.done]).toEqual([false, false]);
    server.last.line(bookmarkLine("120"));
    await settle();
    expect([forgotten.done, opaque.done]).toEqual([true, true]);
  });

  it("stop waiting when told to", async () => {
    const { caches, cache } = await live();
    const stop = new AbortController();
    const seen = caches.whenSeen(cache, written("a", "105"), stop.signal);
    stop.abort(new Error("enough"));
    await expect(seen).rejects.toThrow("enough");
    await expect(caches.whenSeen(cache, written("a", "105"), stop.signal)).rejects.toThrow("enough");
  });
});
