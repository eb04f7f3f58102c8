// A server that sends more than it may, or what makes no sense: the watch gives the connection up, says why in words of its own, and goes on.
import { expect, test } from "vitest";
import { fixedCredentials } from "../client/auth/credentials.ts";
import { createHttpTransport } from "../client/http/http-transport.ts";
import { defineKind } from "../client/kind.ts";
import { createClient } from "../client/kube-client.ts";
import { silentLog } from "../manager/lease-simulation.fixture.ts";
import { seededRandom } from "../random.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { Reflector, watchSource } from "./reflector.ts";
import { bookmarkLine, listBody, objectLine, ScriptedServer } from "./scripted-server.fixture.ts";
import type { WatchEvent } from "./step.ts";
import type { WatchLimits } from "./watch-limits.ts";

const widget = defineKind({ group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });

function watch(limits: Partial<WatchLimits>): {
  readonly server: ScriptedServer;
  readonly clock: VirtualClock;
  readonly events: WatchEvent<unknown>[];
  readonly problem: () => unknown;
} {
  const server = new ScriptedServer();
  const clock = new VirtualClock();
  const events: WatchEvent<unknown>[] = [];
  const reflector = new Reflector<unknown>({
    source: watchSource(widget, {}, "whole"),
    keep: (object) => object,
    deliver: (event) => void events.push(event),
    transport: server,
    clock,
    random: seededRandom(1),
    log: silentLog,
    limits,
  });
  void reflector.run(new AbortController().signal);
  return { server, clock, events, problem: () => reflector.state.problem };
}

test("limits that are no numbers are refused: they would never be reached", () => {
  for (const name of ["maxEventBytes", "maxBodyBytes", "pageSize", "quietMs"]) {
    for (const value of [Number.NaN, 0, -1]) expect(() => watch({ [name]: value })).toThrow(`${name} is ${value}, but must be`);
  }
  expect(() => createClient(new ScriptedServer(), { maxBodyBytes: Number.NaN })).toThrow("maxBodyBytes is NaN");
  expect(() => createHttpTransport({ server: "http://localhost", credentials: fixedCredentials(), maxHeadBytes: Number.NaN })).toThrow(
    "maxHeadBytes is NaN",
  );
});

test("an event that is too long ends the watch with a reason, and it is opened again", async () => {
  const { server, clock, events, problem } = watch({ maxEventBytes: 1_000 });
  await clock.advance(0);
  server.last.answer(200);
  server.last.line(objectLine("ADDED", "a", "1"));
  server.last.line(bookmarkLine("2", true));
  await clock.advance(0);
  const long = server.last;
  long.send(Buffer.alloc(1_001, "x"));
  await clock.advance(0);
  expect(long.aborted).toBe(true);
  expect(problem()).toEqual({ type: "failing", error: "an event of the watch is longer than 1000 bytes: ask for less or raise maxEventBytes" });
  await clock.advance(2_000);
  expect(server.exchanges).toHaveLength(2);
  expect(events.map(({ type }) => type)).toEqual(["init", "initApply", "initDone"]);
});

test("a page that is too long is not read to its end, and asked for again with fewer objects", async () => {
  const { server, clock, events } = watch({ maxBodyBytes: 1_000, pageSize: 100 });
  await clock.advance(0);
  server.last.answer(400);
  server.last.end();
  await clock.advance(0);
  const sizes: (string | null)[] = [];
  for (let tries = 0; tries < 4; tries++) {
    const page = server.last;
    sizes.push(page.query.get("limit"));
    page.answer(200);
    page.send(tries < 3 ? Buffer.alloc(1_001, " ") : listBody("7", ["a"]));
    page.end();
    await clock.advance(60_000);
  }
  expect(sizes).toEqual(["100", "12", "1", "1"]);
  expect(events.map(({ type }) => type)).toEqual(["init", "initApply", "initDone"]);
});

test("the body of a refusal that is too long is left unread", async () => {
  const { server, clock, problem } = watch({});
  await clock.advance(0);
  const refused = server.last;
  refused.answer(500);
  refused.send(Buffer.alloc(2 * 1024 * 1024, " "));
  await clock.advance(0);
  expect(refused.aborted).toBe(true);
  expect(problem()).toMatchObject({ type: "failing", error: expect.stringContaining("500") });
});

test.each<[string, (server: ScriptedServer) => void, string]>([
  [
    "another form",
    ({ last }) => last.answer(200, { "content-type": 'text/html; token="hunter2"' }),
    "the answer is in another form than was asked for (text/html), perhaps from something in between",
  ],
  [
    "an event of another type",
    ({ last }) => {
      last.answer(200);
      last.line({ type: "hunter2", object: { metadata: {} } });
    },
    "json: a watch event of no known type",
  ],
  [
    "an error with a code that is none",
    ({ last }) => {
      last.answer(200);
      last.line({ type: "ERROR", object: { code: "hunter2", message: "hunter2" } });
    },
    "the API server answered 500: the API server's words are withheld",
  ],
])("%s is a failure like any other, and not repeated", async (_, answer, said) => {
  const { server, clock, problem } = watch({});
  await clock.advance(0);
  answer(server);
  await clock.advance(0);
  expect(problem()).toEqual({ type: "failing", error: expect.stringContaining(said) });
  expect(JSON.stringify(problem())).not.toContain("hunter2");
  await clock.advance(2_000);
  expect(server.exchanges).toHaveLength(2);
});
