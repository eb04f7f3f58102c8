// Notifications in virtual time: what is sent, how often, and what becomes of the rest.
import { createLogger, createMetrics, type Event, seededRandom } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { describe, expect, test } from "vitest";
import { features } from "../registry.ts";
import { Notifier, type NotifierOptions } from "./notifier.ts";
import type { Delivery } from "./webhook.ts";

function event(reason: string, change: Partial<Event> = {}): Event {
  return {
    metadata: { namespace: "shop", name: "e" },
    eventTime: "2026-03-04T12:00:00.000000Z",
    type: "Normal",
    reason,
    action: "Reconcile",
    note: `about ${reason}`,
    reportingController: "keyturn.io/rotation",
    reportingInstance: "pod-1",
    regarding: { apiVersion: "rotator.k8s.telekom.com/v1", kind: "RotationTarget", namespace: "shop", name: "live", uid: "u" },
    ...change,
  };
}

function setUp(change: Partial<NotifierOptions> = {}) {
  const clock = new VirtualClock();
  const bodies: Record<string, unknown>[] = [];
  const times: number[] = [];
  const lines: string[] = [];
  const metrics = createMetrics();
  const state: { answer: Delivery } = { answer: { type: "sent" } };
  const notifier = new Notifier({
    post(body) {
      bodies.push(JSON.parse(body) as Record<string, unknown>);
      times.push(clock.monotonic());
      return Promise.resolve(state.answer);
    },
    events: "life",
    registry: features,
    format: "generic",
    clock,
    random: seededRandom(1),
    log: createLogger({ destination: { write: (line) => lines.push(line) } }),
    metrics,
    ...change,
  });
  const counted = async (result: string): Promise<number> => {
    const text = await metrics.registry.getSingleMetricAsString("keyturn_notifications_total");
    return Number(new RegExp(`\\{result="${result}"\\} (.*)`).exec(text)?.[1]);
  };
  return { clock, bodies, times, lines, state, notifier, counted };
}

describe("what is sent", () => {
  const sorts = [event("VersionRotated"), event("VersionFilled"), event("NameConflict", { type: "Warning" })];

  test.each([
    ["warnings", ["NameConflict"]],
    ["life", ["VersionRotated", "NameConflict"]],
    ["all", ["VersionRotated", "VersionFilled", "NameConflict"]],
  ] as const)("%s", async (events, reasons) => {
    const { notifier, bodies, clock } = setUp({ events });
    for (const each of sorts) notifier.notify(each);
    await clock.advance(1);
    expect(bodies.map(({ reason }) => reason)).toEqual(reasons);
  });

  test("everything that there is to know, in a form that stays", async () => {
    const { notifier, bodies, clock } = setUp({ cluster: "prod-1" });
    notifier.notify(event("VersionRotated"));
    await clock.advance(1);
    expect(bodies).toEqual([
      {
        time: "2026-03-04T12:00:00.000000Z",
        cluster: "prod-1",
        type: "Normal",
        reason: "VersionRotated",
        message: "about VersionRotated",
        controller: "rotation",
        object: { apiVersion: "rotator.k8s.telekom.com/v1", kind: "RotationTarget", namespace: "shop", name: "live" },
        dropped: 0,
      },
    ]);
  });

  test("for Slack: one text, in which nothing can be a link or a mention", async () => {
    const { notifier, bodies, clock } = setUp({ format: "slack", cluster: "prod-1" });
    notifier.notify(event("NameConflict", { type: "Warning", note: "taken by <!channel> & co" }));
    await clock.advance(1);
    expect(bodies).toEqual([{ text: ":warning: *NameConflict* RotationTarget live in prod-1/shop\ntaken by &lt;!channel&gt; &amp; co" }]);
  });
});

describe("how often", () => {
  test("ten at once, then one a second, in their order", async () => {
    const { notifier, bodies, times, clock } = setUp();
    for (let count = 0; count < 13; count++) notifier.notify(event("VersionRotated", { note: String(count) }));
    await clock.advance(1);
    expect(bodies).toHaveLength(10);
    await clock.advance(10_000);
    expect(bodies.map(({ message }) => message)).toEqual(Array.from({ length: 13 }, (_, index) => String(index)));
    expect(times.slice(10).map((time, index) => Math.floor(time / 1000) - index)).toEqual([1, 1, 1]);
  });

  test("no more wait than may; the next one that is sent says how many were lost", async () => {
    const { notifier, bodies, clock, counted } = setUp();
    // One is under way.
    for (let count = 0; count < 206; count++) notifier.notify(event("VersionRotated"));
    expect(await counted("dropped")).toBe(5);
    await clock.advance(1);
    expect(bodies[0]).toMatchObject({ dropped: 5 });
    expect(bodies[1]).toMatchObject({ dropped: 0 });
  });
});

test("a namespace in which much happens silences no other", async () => {
  const { notifier, bodies, clock } = setUp();
  const regarding = { apiVersion: "v1", kind: "Secret", namespace: "evil", name: "many", uid: "u" };
  for (let count = 0; count < 1000; count++) notifier.notify(event("NameConflict", { type: "Warning", note: String(count), regarding }));
  notifier.notify(event("VersionRotated"));
  await clock.advance(1);
  expect(bodies.map(({ reason }) => reason)).toContain("VersionRotated");
});

describe("what goes wrong", () => {
  test("is tried again, later each time, and then given up; the log says so once", async () => {
    const { notifier, state, bodies, times, lines, clock, counted } = setUp();
    state.answer = { type: "failed", why: "the webhook could not be reached" };
    notifier.notify(event("VersionRotated"));
    notifier.notify(event("KeyRevoked"));
    await clock.advance(600_000);
    expect(bodies).toHaveLength(12);
    const waits = times.slice(1, 6).map((time, index) => time - (times[index] ?? 0));
    expect(waits.every((wait, index) => wait >= 500 * 2 ** index && wait <= 1000 * 2 ** index + 1)).toBe(true);
    expect(await counted("failed")).toBe(2);
    expect(lines.filter((line) => line.includes("could not send"))).toHaveLength(1);

    state.answer = { type: "sent" };
    notifier.notify(event("KeyRemoved"));
    await clock.advance(1);
    expect(bodies.at(-1)).toMatchObject({ reason: "KeyRemoved", dropped: 2 });
    expect(lines.filter((line) => line.includes("sent again"))).toHaveLength(1);
  });

  test("is not tried again if it is refused", async () => {
    const { notifier, state, bodies, clock, counted } = setUp();
    state.answer = { type: "refused", why: "the webhook answered with HTTP status 404" };
    notifier.notify(event("VersionRotated"));
    await clock.advance(600_000);
    expect(bodies).toHaveLength(1);
    expect(await counted("failed")).toBe(1);
  });

  test("waits as long as it is asked to, within reason", async () => {
    const { notifier, state, times, clock } = setUp();
    state.answer = { type: "failed", why: "the webhook answered with HTTP status 429", retryAfterMs: 30_000 };
    notifier.notify(event("VersionRotated"));
    await clock.advance(29_999);
    expect(times).toHaveLength(1);
    await clock.advance(1);
    expect(times).toHaveLength(2);
    state.answer = { type: "failed", why: "the webhook answered with HTTP status 429", retryAfterMs: 86_400_000 };
    await clock.advance(30_000);
    expect(times).toHaveLength(3);
    await clock.advance(300_000);
    expect(times).toHaveLength(4);
  });
});

test("the end waits for a second, and no longer", async () => {
  const { notifier, state, clock, counted } = setUp();
  state.answer = { type: "failed", why: "the webhook could not be reached", retryAfterMs: 60_000 };
  notifier.notify(event("VersionRotated"));
  notifier.notify(event("VersionRotated"));
  await clock.advance(1);
  const ended = notifier[Symbol.asyncDispose]();
  await clock.advance(1000);
  await ended;
  expect(await counted("dropped")).toBe(2);
  notifier.notify(event("VersionRotated"));
  expect(await counted("dropped")).toBe(3);
});
