// Events in virtual time over a simulated API server: what is written, how often, and what is dropped.
import { describe, expect, test } from "vitest";
import { ConfigMap, Event, Namespace } from "../client/builtin-kinds.ts";
import { createClient } from "../client/kube-client.ts";
import { ConnectionError } from "../client/transport.ts";
import type { Transport, TransportRequest } from "../client/transport.ts";
import { seededRandom } from "../random.ts";
import { SimulatedApiServer } from "../testing/simulation/simulated-api-server.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { type EventToRecord, SeriesEventRecorder } from "./events.ts";
import { createMetrics } from "./metrics.ts";
import { createLogger } from "./logger.ts";

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

type Fault = "none" | "down" | "forbidden" | "busy";

function setUp() {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const server = new SimulatedApiServer({ clock, random });
  const writes: TransportRequest[] = [];
  const lines: string[] = [];
  const metrics = createMetrics();
  const state: { fault: Fault } = { fault: "none" };
  const transport: Transport = {
    send(request) {
      if (state.fault === "down") return Promise.reject(new ConnectionError("refused"));
      const forbidden = { status: 403, body: JSON.stringify({ kind: "Status", reason: "Forbidden", message: "no", code: 403 }) };
      const busy = { status: 429, body: JSON.stringify({ kind: "Status", reason: "TooManyRequests", details: { retryAfterSeconds: 1e9 } }) };
      const answer = state.fault === "forbidden" ? forbidden : state.fault === "busy" ? busy : server.handle(request);
      if (!("body" in answer)) throw new Error("a watch was not expected");
      writes.push(request);
      return Promise.resolve({ status: answer.status, headers: {}, body: bytesOf(answer.body) });
    },
    close() {},
  };
  const client = createClient(transport, { clock, random });
  const log = createLogger({ destination: { write: (line) => lines.push(line) } });
  const recorder = new SeriesEventRecorder({ client, clock, random, log, metrics, reportingDomain: "keyturn.io", reportingInstance: "pod-1" });
  return {
    clock,
    writes,
    lines,
    metrics,
    state,
    recorder,
    events: recorder.forController("jwks"),
    stored: async (): Promise<readonly Event[]> => (await client.list(Event)).items,
    clear: async (): Promise<void> => {
      const { items } = await client.list(Event);
      for (const { metadata } of items) await client.delete(Event, { namespace: metadata.namespace ?? "", name: metadata.name });
    },
    dropped: async (): Promise<readonly string[]> =>
      (await metrics.text()).split("\n").filter((line) => line.startsWith("runtime_events_dropped_total{")),
  };
}

const published: EventToRecord = {
  kind: ConfigMap,
  object: { namespace: "default", name: "web", uid: "u-1" },
  type: "Normal",
  reason: "Published",
  action: "Publish",
  message: "published 2 keys",
};

test("listeners hear of the first of each sort, without secrets", async () => {
  const { recorder, events, clock } = setUp();
  const heard: string[] = [];
  recorder.subscribe(({ note, regarding, reportingController }) => void heard.push(`${reportingController} ${regarding?.name}: ${note}`));
  events.record(published);
  events.record(published);
  events.record({ ...published, message: "password=hunter2hunter2" });
  await clock.advance(10 * 60_000);
  events.record(published);
  expect(heard).toEqual([
    "keyturn.io/jwks web: published 2 keys",
    "keyturn.io/jwks web: password=[redacted]",
    "keyturn.io/jwks web: published 2 keys",
  ]);
});

describe("SeriesEventRecorder", () => {
  test("writes the first of its sort as an Event", async () => {
    const { clock, events, stored } = setUp();
    events.record(published);
    await clock.advance(0);
    expect(await stored()).toMatchObject([
      {
        metadata: { namespace: "default", name: expect.stringMatching(/^web\.[0-9a-f]+$/) },
        eventTime: "2026-01-01T00:00:00.000000Z",
        type: "Normal",
        reason: "Published",
        action: "Publish",
        note: "published 2 keys",
        regarding: { apiVersion: "v1", kind: "ConfigMap", namespace: "default", name: "web", uid: "u-1" },
        reportingController: "keyturn.io/jwks",
        reportingInstance: "pod-1",
      },
    ]);
  });

  test("counts repetitions in that Event, and writes the count when it doubled or after 30 s", async () => {
    const { clock, events, stored, writes } = setUp();
    for (let time = 0; time < 100; time++) {
      events.record(published);
      await clock.advance(10);
    }
    expect(writes).toHaveLength(1 + 6);
    await clock.advance(30_000);
    expect(await stored()).toMatchObject([{ series: { count: 100, lastObservedTime: "2026-01-01T00:00:00.990000Z" } }]);
    expect(writes.filter(({ method }) => method !== "GET")).toHaveLength(8);
  });

  test("starts a new Event when the last of the series is 6 minutes ago, or the words differ", async () => {
    const { clock, events, stored } = setUp();
    events.record(published);
    await clock.advance(6 * 60_000 + 1);
    events.record(published);
    events.record({ ...published, message: "published 3 keys" });
    await clock.advance(0);
    expect(await stored()).toHaveLength(3);
  });

  test("makes a new Event of the same count when the old one is gone", async () => {
    const { clock, events, stored, clear } = setUp();
    events.record(published);
    await clock.advance(0);
    await clear();
    events.record(published);
    await clock.advance(0);
    expect(await stored()).toMatchObject([{ series: { count: 2 } }]);
  });

  test("lets one object cause 25 at once and one more every 5 minutes", async () => {
    const { clock, events, stored, dropped } = setUp();
    for (let i = 0; i < 40; i++) events.record({ ...published, message: `message ${i}` });
    events.record({ ...published, object: { namespace: "default", name: "other" } });
    await clock.advance(0);
    expect(await stored()).toHaveLength(26);
    expect(await dropped()).toEqual(['runtime_events_dropped_total{cause="rate"} 15']);
    await clock.advance(5 * 60_000);
    events.record({ ...published, message: "later" });
    events.record({ ...published, message: "too soon" });
    await clock.advance(0);
    expect(await stored()).toHaveLength(27);
  });

  test("keeps within the API server's limits, without secrets", async () => {
    const { clock, events, stored } = setUp();
    events.record({ ...published, kind: Namespace, object: { name: "system:Weird:Name-" }, message: `password=hunter2 ${"é".repeat(2000)}` });
    await clock.advance(0);
    const [event] = await stored();
    expect(event?.metadata.namespace).toBe("default");
    expect(event?.metadata.name).toMatch(/^system-weird-name\.[0-9a-f]+$/);
    expect(event?.regarding).toEqual({ apiVersion: "v1", kind: "Namespace", name: "system:Weird:Name-" });
    expect(event?.note).toMatch(/^password=\[redacted\] é+…$/);
    expect(Buffer.byteLength(event?.note ?? "")).toBeLessThanOrEqual(1024);
  });

  test("tries again while the API server is away, and gives up in the end", async () => {
    const { clock, events, stored, state, dropped, lines } = setUp();
    state.fault = "down";
    events.record(published);
    await clock.advance(5_000);
    state.fault = "none";
    await clock.advance(60_000);
    expect(await stored()).toHaveLength(1);
    state.fault = "down";
    events.record({ ...published, message: "lost" });
    await clock.advance(600_000);
    expect(await dropped()).toEqual(['runtime_events_dropped_total{cause="unreachable"} 1']);
    expect(lines).toHaveLength(1);
  });

  test("is not parked by a server that asks for years", async () => {
    const { clock, events, stored, state } = setUp();
    state.fault = "busy";
    events.record(published);
    await clock.advance(0);
    state.fault = "none";
    await clock.advance(302_000);
    expect(await stored()).toHaveLength(1);
  });

  test("a refusal is counted, and logged once", async () => {
    const { clock, events, state, dropped, lines } = setUp();
    state.fault = "forbidden";
    for (const message of ["a", "b", "c"]) events.record({ ...published, message });
    await clock.advance(1000);
    expect(await dropped()).toEqual(['runtime_events_dropped_total{cause="refused"} 3']);
    expect(lines).toHaveLength(1);
  });

  test("memory is bounded when nothing can be written", async () => {
    const { clock, events, state, dropped } = setUp();
    state.fault = "down";
    for (let i = 0; i < 3000; i++) events.record({ ...published, object: { namespace: "default", name: `web-${i}` } });
    await clock.advance(0);
    expect(await dropped()).toEqual(['runtime_events_dropped_total{cause="queue"} 1999']);
  });

  test("a namespace in which much happens keeps no Event of another from being written", async () => {
    const { clock, events, state, stored } = setUp();
    state.fault = "down";
    for (let i = 0; i < 3000; i++) events.record({ ...published, object: { namespace: "default", name: `web-${i}` } });
    events.record({ ...published, object: { namespace: "kube-system", name: "web" } });
    await clock.advance(0);
    state.fault = "none";
    await clock.advance(60_000);
    expect((await stored()).filter(({ metadata }) => metadata.namespace === "kube-system")).toHaveLength(1);
  });

  test("writes what is pending when it is closed, and takes no more", async () => {
    const { clock, events, recorder, stored, dropped } = setUp();
    for (let i = 0; i < 3; i++) events.record(published);
    await clock.advance(0);
    for (let i = 0; i < 2; i++) events.record(published);
    await recorder.close(AbortSignal.timeout(60_000));
    expect(await stored()).toMatchObject([{ series: { count: 5 } }]);
    events.record(published);
    expect(await dropped()).toEqual(['runtime_events_dropped_total{cause="closed"} 1']);
  });

  test("closing gives up at its signal", async () => {
    const { events, recorder, state, dropped } = setUp();
    state.fault = "down";
    events.record(published);
    await recorder.close(AbortSignal.abort());
    expect(await dropped()).toEqual(['runtime_events_dropped_total{cause="closed"} 1']);
  });
});
