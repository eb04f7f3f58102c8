// What ends a run before it is done: its deadline, and the end of a term.
import { describe, expect, test } from "vitest";
import { createClient } from "../client/kube-client.ts";
import { abortRace, ConnectionError, type Transport } from "../client/transport.ts";
import type { ControllerScope } from "./controller.ts";
import { deaf, runnerRig } from "./runner-rig.fixture.ts";
import { thingKind } from "./small-world.fixture.ts";

describe("numbers that make no sense are refused at the start, by name", () => {
  test.each(["resyncMs", "deadlineMs", "concurrency"] as const)("%s", (name) => {
    for (const value of [Number.NaN, 0, -1]) expect(() => runnerRig(async () => {}, { [name]: value })).toThrow(`${name} is ${value}, but must be`);
    expect(() => runnerRig(async () => {}, { [name]: Infinity })).not.toThrow();
  });

  test.each(["resyncMs", "abandonAfterMs", "reportDeadlineMs"] as const)("%s of the operator", (name) => {
    for (const value of [Number.NaN, 0, -1]) expect(() => runnerRig(async () => {}, {}, { [name]: value })).toThrow(RangeError);
  });

  test("backoff", () => {
    for (const name of ["firstMs", "maxMs", "spread"])
      expect(() => runnerRig(async () => {}, { backoff: { firstMs: 1, maxMs: 2, [name]: Number.NaN } })).toThrow(`backoff.${name} is NaN`);
  });
});

describe("deadlines", () => {
  test("a reconcile that hangs is cut, retried, and holds nobody else", async () => {
    const started: string[] = [];
    const { clock, world, reports, lead, runner } = runnerRig(
      async ({ key, signal }) => {
        started.push(key);
        if (key === "test/hang") await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
      { concurrency: 1, deadlineMs: 1_000, backoff: { firstMs: 100, maxMs: 100 } },
    );
    world.put("hang", 1);
    world.put("other", 1);
    lead();
    await clock.advance(1_000);
    expect(started).toEqual(["test/hang", "test/other"]);
    expect(reports[0]).toMatchObject({ key: "test/hang", outcome: { code: "Transient", reason: "DeadlineExceeded" } });
    await clock.advance(100);
    expect(started).toEqual(["test/hang", "test/other", "test/hang"]);
    expect(runner.activity()).toMatchObject({ running: 1, maxRunningMs: expect.closeTo(0, -2) });
  });

  test("one that ignores its signal loses its worker, and its key waits for its end", async () => {
    const started: string[] = [];
    const release = Promise.withResolvers<void>();
    const { clock, world, reports, lead, runner } = runnerRig(
      async ({ key }) => {
        started.push(key);
        if (key === "test/deaf" && started.length === 1) await release.promise;
      },
      { concurrency: 1, deadlineMs: 1_000 },
    );
    world.put("deaf", 1);
    world.put("other", 1);
    lead();
    await clock.advance(2_100);
    expect(started).toEqual(["test/deaf", "test/other"]);
    expect(reports.map(({ key }) => key)).toEqual(["test/deaf"]);
    world.put("deaf", 2);
    await clock.advance(600_000);
    expect(started).toEqual(["test/deaf", "test/other"]);
    expect(runner.activity()).toMatchObject({ running: 0, held: 1 });
    release.resolve();
    await clock.advance(10);
    expect(started).toEqual(["test/deaf", "test/other", "test/deaf"]);
  });

  test("its key waits in the next term too", async () => {
    let starts = 0;
    const { clock, world, lead } = runnerRig(() => (starts++, deaf()));
    world.put("deaf", 1);
    const first = lead();
    await clock.advance(10);
    first.stop();
    await clock.advance(1_000);
    await first.ended;
    lead();
    await clock.advance(100_000);
    expect(starts).toBe(1);
  });
});

describe("terms", () => {
  test("draining starts nothing new and lets what runs end", async () => {
    const started: string[] = [];
    const ended: string[] = [];
    const { clock, world, lead } = runnerRig(
      async ({ key }) => {
        started.push(key);
        await new Promise<void>((resolve) => void clock.setTimer(500, resolve));
        ended.push(key);
      },
      { concurrency: 1 },
    );
    world.put("a", 1);
    world.put("b", 1);
    const term = lead();
    await clock.advance(100);
    term.drain();
    await clock.advance(1_000);
    await term.ended;
    expect([started, ended]).toEqual([["test/a"], ["test/a"]]);
  });

  test("the end of a term aborts its runs, reports nothing and forgets the queue", async () => {
    let aborted = 0;
    const { clock, world, lead, reports } = runnerRig(
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            aborted++;
            reject(signal.reason);
          });
        }),
      { concurrency: 1 },
    );
    world.put("a", 1);
    world.put("b", 1);
    const term = lead();
    await clock.advance(100);
    term.stop();
    await term.ended;
    await clock.advance(10_000);
    expect([aborted, reports]).toEqual([1, []]);
  });

  test("once the right has run out nothing starts and nothing is written, even before a signal says so", async () => {
    const runs: string[] = [];
    const refused: unknown[] = [];
    const { clock, world, lead, reports } = runnerRig(async ({ key, client }) => {
      runs.push(key);
      await new Promise<void>((resolve) => void clock.setTimer(100, resolve));
      await client.apply(thingKind, { metadata: { name: "z" } }, { fieldManager: "demo" }).catch((error: unknown) => {
        refused.push(error);
        throw error;
      });
    });
    world.put("a", 1);
    const term = lead();
    await clock.advance(50);
    term.expire();
    world.put("b", 1);
    await clock.advance(1_000);
    expect(runs).toEqual(["test/a"]);
    expect(refused).toMatchObject([{ code: "TermEnded" }]);
    expect(world.stored.has("test/z")).toBe(false);
    expect(reports).toEqual([]);
  });

  /** A transport on which writes wait, as for credentials or a socket, and which then does what every transport does. */
  function waitingTransport(): { readonly transport: Transport; readonly sent: string[]; readonly waiting: (() => void)[] } {
    const sent: string[] = [];
    const waiting: (() => void)[] = [];
    const send: Transport["send"] = async ({ path, permit }) => {
      const turn = Promise.withResolvers<void>();
      waiting.push(turn.resolve);
      await abortRace(turn.promise, permit?.signal);
      permit?.check();
      sent.push(path);
      throw new ConnectionError("no answer");
    };
    return { transport: { send, close() {} }, sent, waiting };
  }

  test.each(["stop", "expire"] as const)("a write that waits in the transport when the term ends (%s) is dropped with a typed error", async (how) => {
    const { transport, sent, waiting } = waitingTransport();
    const refused: unknown[] = [];
    const { clock, world, lead } = runnerRig(
      async ({ client }) => {
        // It does not listen to its signal, and the transport must not rely on that.
        await client.create(thingKind, { metadata: { namespace: "test", name: "z" } }).catch((error: unknown) => refused.push(error));
      },
      {},
      { client: createClient(transport) },
    );
    for (const name of ["a", "b", "c"]) world.put(name, 1);
    const term = lead();
    await clock.advance(50);
    expect(waiting).toHaveLength(3);
    term[how]();
    await clock.advance(50);
    for (const turn of waiting) turn();
    await clock.advance(50);
    expect(sent).toEqual([]);
    expect(refused).toMatchObject(["a", "b", "c"].map(() => ({ code: "TermEnded" })));
  });

  test.each(["stop", "expire"] as const)("what a run sends to another server needs its permit, which ends with the term (%s)", async (how) => {
    const { transport, sent, waiting } = waitingTransport();
    const refused: unknown[] = [];
    const { clock, world, lead } = runnerRig(async ({ permit }) => {
      await transport.send({ method: "POST", path: "/elsewhere", permit }).catch((error: unknown) => refused.push(error));
    });
    world.put("a", 1);
    const term = lead();
    await clock.advance(50);
    term[how]();
    await clock.advance(50);
    for (const turn of waiting) turn();
    await clock.advance(50);
    expect(sent).toEqual([]);
    expect(refused).toHaveLength(1);
  });

  test("a write that waits in the transport when its run is cut at the deadline is not sent later", async () => {
    const { transport, sent, waiting } = waitingTransport();
    const { clock, world, lead } = runnerRig(
      ({ client, signal }) => client.delete(thingKind, { namespace: "test", name: "z" }, {}, signal).then(() => undefined),
      { deadlineMs: 1_000 },
      { client: createClient(transport) },
    );
    world.put("a", 1);
    lead();
    await clock.advance(1_500);
    for (const turn of waiting) turn();
    await clock.advance(1);
    expect(sent).toEqual([]);
  });

  test("the client of a controller's scope writes only while a term lasts, and reads at any time", async () => {
    const { transport, sent, waiting } = waitingTransport();
    const write = (scope: ControllerScope | undefined): Promise<unknown> =>
      (scope?.client.delete(thingKind, { namespace: "test", name: "z" }) ?? Promise.resolve()).catch((error: unknown) => error);
    const { clock, lead, scope } = runnerRig(async () => {}, {}, { client: createClient(transport) });
    const before = write(scope);
    waiting.shift()?.();
    expect(await before).toMatchObject({ code: "TermEnded" });
    const term = lead();
    await clock.advance(10);
    const within = write(scope);
    waiting.shift()?.();
    expect(await within).toMatchObject({ code: "Connection" });
    expect(sent).toHaveLength(1);
    const late = write(scope);
    term.expire();
    waiting.shift()?.();
    expect(await late).toMatchObject({ code: "TermEnded" });
    void scope?.client.get(thingKind, { namespace: "test", name: "z" }).catch(() => undefined);
    waiting.shift()?.();
    await clock.advance(0);
    expect(sent).toHaveLength(2);
  });
});
