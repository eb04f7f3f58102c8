// When a cache counts as having shown what the process itself has written.
import { expect, it } from "vitest";
import { defineKind } from "../client/kind.ts";
import { bookmarkLine, objectLine } from "../watch/scripted-server.fixture.ts";
import { answerStream, scriptedCaches, widgets, written } from "./cache-registry.fixture.ts";

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
  const parts = scriptedCaches();
  const cache = parts.caches.watch(widgets, labels === undefined ? {} : { labels });
  parts.caches.start(parts.stop.signal);
  await parts.settle();
  answerStream(parts.server, "100", ["a"]);
  await cache.whenSynced();
  return { ...parts, cache };
}

it("own writes are seen when their event, a later one or a bookmark has come", async () => {
  const { server, caches, cache, settle } = await live();
  await caches.whenObserved(cache, written("a", "99"));
  const own = watchPromise(caches.whenObserved(cache, written("a", "105")));
  const created = watchPromise(caches.whenObserved(cache, written("b", "107")));
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

it("own writes do not wait in caches that do not cover them", async () => {
  const { caches, cache } = await live("app=web");
  const otherKind = { ...written("x", "900", { app: "web" }), kind: defineKind({ ...widgets, plural: "gadgets" }) };
  const elsewhere = caches.watch(widgets, { namespace: "elsewhere" });
  await expect(caches.whenObserved(cache, written("x", "900", { app: "db" }))).resolves.toBe(true);
  await expect(caches.whenObserved(cache, otherKind)).resolves.toBe(true);
  await expect(caches.whenObserved(elsewhere, written("x", "900"))).resolves.toBe(true);
  const single = caches.watch(widgets, { namespace: "ns", fields: "spec.size!=3,metadata.name=a" });
  await expect(caches.whenObserved(single, written("x", "900"))).resolves.toBe(true);
});

it.each([
  ["is not selected by its field", { type: "Opaque" }, true],
  ["is selected by its field", { type: "kubernetes.io/tls" }, false],
  ["lacks the field", {}, true],
  ["is not known", undefined, true],
])("own writes of an object that %s hold nothing up that will never be seen: %s", async (_, content, isSettled) => {
  const { server, caches, stop, settle } = scriptedCaches();
  const cache = caches.watch(widgets, { fields: "type=kubernetes.io/tls" });
  caches.start(stop.signal);
  await settle();
  answerStream(server, "100", ["held"]);
  await settle();
  const fresh = watchPromise(caches.whenObserved(cache, { ...written("a", "105"), ...(content && { content }) }));
  // What the cache has must be seen to change or to go, whatever its fields are now.
  const held = watchPromise(caches.whenObserved(cache, { ...written("held", "106"), ...(content && { content }) }));
  await settle();
  expect([fresh.done, held.done]).toEqual([isSettled, false]);
  server.last.line(objectLine("DELETED", "held", "107"));
  await settle();
  expect([fresh.done, held.done]).toEqual([true, true]);
});

it("own writes that take an object out of the selection are seen when it is gone", async () => {
  const { server, caches, cache, settle } = await live("app=web");
  const seen = watchPromise(caches.whenObserved(cache, written("a", "105", { app: "db" })));
  await settle();
  expect(seen.done).toBe(false);
  server.last.line(objectLine("DELETED", "a", "105"));
  await settle();
  expect([seen.done, cache.size]).toEqual([true, 0]);
});

it("own writes that delete are seen when the object is gone or another has its name", async () => {
  const { server, caches, cache, settle } = await live();
  const deleted = { type: "deleted", kind: widgets, key: "ns/a", uid: "uid-a" } as const;
  const seen = watchPromise(caches.whenObserved(cache, deleted));
  server.last.line(objectLine("MODIFIED", "a", "101"));
  await settle();
  expect(seen.done).toBe(false);
  server.last.line(objectLine("DELETED", "a", "102"));
  await settle();
  expect(seen.done).toBe(true);
  await caches.whenObserved(cache, deleted);
});

it("own writes that delete what was made a moment before are not seen before it has come and gone", async () => {
  const { server, caches, cache, settle } = await live();
  const made = watchPromise(caches.whenObserved(cache, written("b", "105")));
  const deleted = watchPromise(caches.whenObserved(cache, { type: "deleted", kind: widgets, key: "ns/b", uid: "uid-b" }));
  await settle();
  expect([made.done, deleted.done]).toEqual([false, false]);
  server.last.line(objectLine("ADDED", "b", "105"));
  await settle();
  expect([made.done, deleted.done]).toEqual([true, false]);
  server.last.line(objectLine("DELETED", "b", "106"));
  await settle();
  expect(deleted.done).toBe(true);
});

it("own writes are settled by a list that began after them, even if resourceVersions went backwards", async () => {
  const { clock, server, caches, cache, settle } = await live();
  const seen = watchPromise(caches.whenObserved(cache, written("a", "105")));
  server.last.line({ type: "ERROR", object: { code: 410, message: "restored" } });
  await clock.advance(1_000);
  expect(server.last.query.get("sendInitialEvents")).toBe("true");
  answerStream(server, "50", ["a"]);
  await settle();
  expect(seen.done).toBe(true);
  // And what is written to the restored server is compared with its own counting.
  const next = watchPromise(caches.whenObserved(cache, written("a", "60")));
  await settle();
  expect(next.done).toBe(false);
  server.last.line(objectLine("MODIFIED", "a", "60"));
  await settle();
  expect(next.done).toBe(true);
});

it("own writes are not settled by a list that was under way before them", async () => {
  const { server, caches, stop, settle } = scriptedCaches();
  const cache = caches.watch(widgets);
  caches.start(stop.signal);
  await settle();
  server.last.answer(200);
  await settle();
  const seen = watchPromise(caches.whenObserved(cache, written("a", "105")));
  server.last.line(bookmarkLine("104", true));
  await settle();
  expect(seen.done).toBe(false);
  server.last.line(bookmarkLine("106"));
  await settle();
  expect(seen.done).toBe(true);
});

it("own writes that the server has forgotten, or whose resourceVersions cannot be compared, hold nothing up beyond two bookmarks", async () => {
  const { server, caches, cache, settle } = await live();
  const forgotten = watchPromise(caches.whenObserved(cache, written("a", "9000")));
  const opaque = watchPromise(caches.whenObserved(cache, written("a", "x-17")));
  server.last.line(bookmarkLine("110"));
  await settle();
  expect([forgotten.done, opaque.done]).toEqual([false, false]);
  server.last.line(bookmarkLine("120"));
  await settle();
  expect([forgotten.done, opaque.done]).toEqual([true, true]);
});

it("own writes stop waiting when asked to", async () => {
  const { caches, cache } = await live();
  const stop = new AbortController();
  const seen = caches.whenObserved(cache, written("a", "105"), stop.signal);
  stop.abort(new Error("enough"));
  await expect(seen).rejects.toThrow("enough");
  await expect(caches.whenObserved(cache, written("a", "105"), stop.signal)).rejects.toThrow("enough");
});
