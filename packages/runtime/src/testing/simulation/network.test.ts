// Tests of the simulated wire: what a client sees of each fault, and what the server has done meanwhile.
import { describe, expect, test } from "vitest";
import { ConfigMap } from "../../client/builtin-kinds.ts";
import { collectionPath } from "../../client/kind.ts";
import { ConnectionError } from "../../client/transport.ts";
import type { Transport, TransportRequest } from "../../client/transport.ts";
import { seededRandom } from "../../random.ts";
import { VirtualClock } from "../virtual-clock.ts";
import { type FaultRates, noFaults } from "./world-trouble.ts";
import { ProcessClock } from "./process.ts";
import { SimulatedApiServer } from "./simulated-api-server.ts";
import { SimulatedNetwork } from "./network.ts";

const path = collectionPath(ConfigMap, "default");
const watchPath = `${path}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=300`;
const creation: TransportRequest = { method: "POST", path, body: JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ü" } }) };

interface Rig {
  readonly clock: VirtualClock;
  readonly server: SimulatedApiServer;
  readonly network: SimulatedNetwork;
  readonly process: ProcessClock;
  readonly transport: Transport;
}

function rig(faults: Partial<FaultRates> = {}): Rig {
  const clock = new VirtualClock();
  const server = new SimulatedApiServer({ clock, random: seededRandom(1) });
  const network = new SimulatedNetwork({ server, clock, random: seededRandom(2) });
  network.faults = { ...noFaults, ...faults };
  const process = new ProcessClock(clock);
  return { clock, server, network, process, transport: network.connect({ name: "p", clock: process }) };
}

/** Sends a request, collects what comes, and says how it ended. */
function follow(transport: Transport, request: TransportRequest, signal?: AbortSignal): { text: string; status: number; end: unknown } {
  const seen: { text: string; status: number; end: unknown } = { text: "", status: 0, end: undefined };
  const decoder = new TextDecoder();
  void (async () => {
    const { status, body } = await transport.send(request, signal);
    seen.status = status;
    for await (const chunk of body) seen.text += decoder.decode(chunk, { stream: true });
    seen.end = "complete";
  })().catch((error: unknown) => (seen.end = error));
  return seen;
}

const wrote = ({ server }: Rig): boolean => server.store.get("configmaps", "default/ü") !== undefined;

describe("requests", () => {
  test("are answered after their way there and back, in pieces that make up the whole", async () => {
    const world = rig({ latencyMs: [10, 10] });
    const seen = follow(world.transport, creation);
    await world.clock.advance(19);
    expect([seen.status, wrote(world)]).toEqual([0, true]);
    await world.clock.advance(1);
    expect(seen).toMatchObject({ status: 201, end: "complete" });
    expect(JSON.parse(seen.text)).toMatchObject({ metadata: { name: "ü" } });
  });

  test("can be lost before or after they took effect, and the client cannot know which", async () => {
    const before = rig({ lostRequest: 1 });
    const after = rig({ lostAnswer: 1 });
    const ends = [follow(before.transport, creation), follow(after.transport, creation)];
    await Promise.all([before.clock.advance(100), after.clock.advance(100)]);
    for (const { end } of ends) expect(end).toBeInstanceOf(ConnectionError);
    expect([wrote(before), wrote(after)]).toEqual([false, true]);
  });

  test("are refused with codes that a busy server gives", async () => {
    const world = rig({ refusal: 1 });
    const seen = Array.from({ length: 20 }, () => follow(world.transport, creation));
    await world.clock.advance(100);
    expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([429, 500, 503]));
    expect(wrote(world)).toBe(false);
  });

  test("time out while the process is cut off, and are refused while the server is down", async () => {
    const world = rig();
    world.network.setPartitioned("p", true);
    const cutOff = follow(world.transport, { ...creation, timeoutMs: 5_000 });
    await world.clock.advance(4_999);
    expect(cutOff.end).toBeUndefined();
    await world.clock.advance(1);
    expect(cutOff.end).toMatchObject({ code: "Connection", message: expect.stringContaining("no answer within 5000 ms") });
    world.network.setPartitioned("p", false);
    world.network.setServerUp(false);
    const down = follow(world.transport, creation);
    await world.clock.advance(100);
    expect(down.end).toMatchObject({ code: "Connection" });
  });

  test("end with the signal's reason when they are aborted", async () => {
    const world = rig();
    const abort = new AbortController();
    const seen = follow(world.transport, creation, abort.signal);
    abort.abort(new Error("enough"));
    await world.clock.advance(100);
    expect(seen.end).toMatchObject({ message: "enough" });
  });
});

describe("watches", () => {
  test("deliver what happens, a bookmark a minute, and end when their time is over", async () => {
    const world = rig();
    const seen = follow(world.transport, { method: "GET", path: watchPath });
    await world.clock.advance(1_000);
    world.server.handle(creation);
    await world.clock.advance(1_000);
    expect(seen.text).toContain('"ADDED"');
    await world.clock.advance(299_000);
    expect(seen.text.match(/BOOKMARK/g)?.length).toBeGreaterThanOrEqual(5);
    expect(seen.end).toBe("complete");
  });

  test("go silent without ending when they stall", async () => {
    const world = rig({ watchStall: 1 });
    const seen = follow(world.transport, { method: "GET", path: watchPath });
    await world.clock.advance(600_000);
    expect(seen).toMatchObject({ status: 200, text: "", end: undefined });
  });

  test("deliver late but in order", async () => {
    const world = rig({ watchDelay: 0.5, watchDelayMs: [1_000, 30_000] });
    const seen = follow(world.transport, { method: "GET", path: watchPath });
    const names = Array.from({ length: 30 }, (_, index) => `n${index}`);
    for (const name of names) {
      world.server.seed({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } });
      await world.clock.advance(500);
    }
    await world.clock.advance(60_000);
    expect([...seen.text.matchAll(/"name":"(n\d+)"/g)].map((match) => match[1])).toEqual(names);
  });

  test("break with the server and with a cut", async () => {
    const world = rig();
    const broken = follow(world.transport, { method: "GET", path: watchPath });
    await world.clock.advance(1_000);
    world.network.setServerUp(false);
    await world.clock.advance(1_000);
    expect(broken.end).toBeInstanceOf(ConnectionError);
    const cut = rig({ watchCut: 1 });
    const ends = Array.from({ length: 10 }, () => follow(cut.transport, { method: "GET", path: watchPath }));
    await cut.clock.advance(1_000);
    expect(new Set(ends.map(({ end }) => (end instanceof ConnectionError ? "broken" : end)))).toEqual(new Set(["broken", "complete"]));
  });
});

describe("processes", () => {
  test("that are dead hear and do nothing more, though what they sent arrives", async () => {
    const world = rig({ latencyMs: [10, 10] });
    const seen = follow(world.transport, creation);
    await world.clock.advance(5);
    world.process.kill();
    const late = follow(world.transport, creation);
    await world.clock.advance(60_000);
    expect([seen.end, late.end, wrote(world)]).toEqual([undefined, undefined, true]);
  });

  test("that are paused hear everything when they go on, in order", async () => {
    const world = rig({ latencyMs: [10, 10] });
    const order: string[] = [];
    world.process.setTimer(1_000, () => order.push("timer"));
    const seen = follow(world.transport, creation);
    world.process.pause();
    await world.clock.advance(10_000);
    expect([seen.end, order]).toEqual([undefined, []]);
    world.process.resume();
    await world.clock.advance(0);
    expect([seen.end, order]).toEqual(["complete", ["timer"]]);
  });
});
