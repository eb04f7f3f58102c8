// A watch of a kind that may not be served, against a server whose every answer is written by the test, in virtual time.
import { expect, it } from "vitest";
import { bookmarkLine, objectLine } from "../watch/scripted-server.fixture.ts";
import { answerStream, type ScriptedCaches, scriptedCaches, widgets, written } from "./cache-registry.fixture.ts";

/** Ends what is open, and lets time pass until the next request. */
async function endStream({ server, clock }: ScriptedCaches): Promise<void> {
  const count = server.exchanges.length;
  server.last.end();
  while (server.exchanges.length === count) await clock.advance(100);
}

/** Answers the open request with this status, and lets time pass until the next one. */
async function refuse(rig: ScriptedCaches, status: number): Promise<void> {
  rig.server.last.answer(status);
  await endStream(rig);
}

it("is another watch than one that waits for the kind", () => {
  const { caches } = scriptedCaches();
  const required = caches.watch(widgets);
  caches.watch(widgets, { optional: true });
  caches.watch(widgets, { optional: true });
  expect(caches.statuses().map(({ optional }) => optional)).toEqual([false, true]);
  expect(caches.statusOf(required).optional).toBe(false);
});

it("is synced and empty once the server has said twice that it does not serve the kind; fills when it does; is empty again when it does no more", async () => {
  const rig = scriptedCaches();
  const { server, clock, caches, stop, settle } = rig;
  const cache = caches.watch(widgets, { optional: true });
  const changes: string[] = [];
  cache.subscribe((change) => void changes.push(`${change.type} ${change.key}`));
  caches.start(stop.signal);
  await settle();
  await refuse(rig, 404);
  expect(cache.synced).toBe(false);
  await refuse(rig, 404);
  await cache.whenSynced();
  expect(caches.statusOf(cache)).toMatchObject({ state: { type: "missing" }, synced: true, optional: true, objects: 0 });

  answerStream(server, "10", ["a", "b"]);
  await settle();
  expect(caches.statusOf(cache)).toMatchObject({ state: { type: "live" }, objects: 2 });
  await clock.advance(60_000);
  server.last.line(objectLine("MODIFIED", "a", "11"));
  server.last.line(bookmarkLine("12"));
  await endStream(rig);

  await refuse(rig, 404);
  expect(cache.size).toBe(2);
  const shown = caches.whenObserved(cache, written("a", "20"));
  await refuse(rig, 404);
  expect(cache.size).toBe(0);
  // A write that went just before the kind did will never be seen, and is not waited for.
  expect(await shown).toBe(false);
  answerStream(server, "30", ["c"]);
  await settle();
  expect(changes).toEqual(["added ns/a", "added ns/b", "updated ns/a", "deleted ns/a", "deleted ns/b", "added ns/c"]);
  stop.abort();
});

it.each([403, 500])("waits for the first list like any other watch while the server answers %i", async (status) => {
  const rig = scriptedCaches();
  const cache = rig.caches.watch(widgets, { optional: true });
  rig.caches.start(rig.stop.signal);
  await rig.settle();
  for (let i = 0; i < 5; i++) await refuse(rig, status);
  // One 404 among others may come from a server that is behind.
  await refuse(rig, 404);
  await refuse(rig, status);
  expect(cache.synced).toBe(false);
  rig.stop.abort();
});
