// How watches fare against a server whose every answer is written by the test, in virtual time.
import { expect, it } from "vitest";
import { bookmarkLine, listBody, objectLine } from "../watch/scripted-server.fixture.ts";
import { answerStream, scriptedCaches, widgets } from "./cache-registry.fixture.ts";

it("asks for a WatchList with bookmarks and a random server time-out, on the watch lane", async () => {
  const { server, caches, stop, settle } = scriptedCaches();
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
  const { clock, server, caches, stop, settle } = scriptedCaches();
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

it("begins a watch that comes after another once that one is synced", async () => {
  const { server, caches, stop, settle } = scriptedCaches();
  const first = caches.watch(widgets, { labels: "first=yes" });
  const known: number[] = [];
  const second = caches.watch(widgets, { after: first, keep: () => known.push(first.size) });
  caches.start(stop.signal);
  await settle();
  expect(server.exchanges.map(({ query }) => query.get("labelSelector"))).toEqual(["first=yes"]);
  expect(caches.statusOf(second).state).toEqual({ type: "idle" });
  answerStream(server, "10", ["a", "b"]);
  await settle();
  expect(server.exchanges).toHaveLength(2);
  answerStream(server, "10", ["c"]);
  await settle();
  expect([second.synced, known]).toEqual([true, [2]]);
});

it("begins no watch after another if everything ends before that one is synced", async () => {
  const { server, caches, stop, settle } = scriptedCaches();
  caches.watch(widgets, { labels: "second=yes", after: caches.watch(widgets) });
  caches.start(stop.signal);
  await settle();
  stop.abort();
  await settle();
  expect(server.exchanges).toHaveLength(1);
});

it("says what right is missing, what kind is not there, and when all is well again; logs ever more rarely", async () => {
  const { clock, server, log, caches, stop, settle } = scriptedCaches();
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
  const { clock, server, caches, stop, settle } = scriptedCaches();
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
