// What a controller's runner promises, in virtual time.
import { describe, expect, test } from "vitest";
import { Registry } from "prom-client";
import { ApiError } from "../client/api-error.ts";
import { ConnectionError } from "../client/transport.ts";
import { silentLog } from "../manager/lease-simulation.fixture.ts";
import { seededRandom } from "../random.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import type { ControllerDefinition, ControllerScope, Reconcile } from "./controller.ts";
import { TerminalError, TransientError, WaitingError } from "./errors.ts";
import type { Report, ReportedOutcome } from "./report.ts";
import { ControllerRunner } from "./runner.ts";
import type { RunnerOptions } from "./runner.ts";
import { SmallWorld, thingKind } from "./small-world.fixture.ts";
import type { Thing } from "./small-world.fixture.ts";

interface Rig {
  readonly clock: VirtualClock;
  readonly world: SmallWorld;
  readonly runner: ControllerRunner;
  readonly reports: { key: string; outcome: ReportedOutcome }[];
  /** Begins a term. */
  readonly lead: () => { readonly ended: Promise<void>; readonly drain: () => void; readonly stop: () => void; readonly expire: () => void };
  scope: ControllerScope | undefined;
}

function rig(reconcile: Reconcile, definition: Partial<ControllerDefinition> = {}, options: Partial<RunnerOptions> = {}): Rig {
  const clock = new VirtualClock();
  const world = new SmallWorld();
  const reports: Rig["reports"] = [];
  let scope: ControllerScope | undefined;
  const runner = new ControllerRunner(
    {
      name: "demo",
      access: [],
      ...definition,
      setup(given) {
        scope = given;
        given.trigger(given.watch(thingKind));
        return reconcile;
      },
    },
    {
      client: world.client,
      caches: world.caches,
      clock,
      random: seededRandom(1),
      log: silentLog,
      metrics: { registry: new Registry() },
      events: () => ({ record() {} }),
      report: async ({ key, outcome }: Report) => void reports.push({ key, outcome }),
      ...options,
    },
  );
  const lead: Rig["lead"] = () => {
    const drain = new AbortController();
    const stop = new AbortController();
    let valid = true;
    const ended = runner.work({ drain: drain.signal, signal: stop.signal, isValid: () => valid });
    return { ended, drain: () => drain.abort(), stop: () => stop.abort(), expire: () => void (valid = false) };
  };
  return { clock, world, runner, reports, lead, scope };
}

/** Resolves never, and does not care about its signal. */
const deaf = (): Promise<never> => new Promise(() => {});

describe("runs", () => {
  test("every key there is runs at the start of a term, and each change runs its key", async () => {
    const runs: string[] = [];
    const { clock, world, lead } = rig(async ({ key }) => void runs.push(key));
    world.put("a", 1);
    world.put("b", 1);
    lead();
    await clock.advance(10);
    expect(runs).toEqual(["test/a", "test/b"]);
    world.put("b", 2);
    world.put("c", 1);
    await clock.advance(10);
    expect(runs).toEqual(["test/a", "test/b", "test/b", "test/c"]);
  });

  test("no more than `concurrency` at a time, and never two of one key", async () => {
    let running = 0;
    let most = 0;
    const keys = new Set<string>();
    const { clock, world, lead } = rig(
      async ({ key }) => {
        expect(keys.has(key)).toBe(false);
        keys.add(key);
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => void clock.setTimer(50, resolve));
        running--;
        keys.delete(key);
      },
      { concurrency: 3 },
    );
    lead();
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < 10; i++) world.put(`thing-${i}`, round);
      await clock.advance(20);
    }
    await clock.advance(5_000);
    expect(most).toBe(3);
    expect(running).toBe(0);
  });

  test("thousands of runs that have nothing to do let other things happen in between", async () => {
    let runs = 0;
    const runsAtTurn: number[] = [];
    const { clock, world, lead } = rig(async () => void runs++);
    for (let i = 0; i < 1000; i++) world.put(`thing-${i}`, 1);
    lead();
    const watchTurns = (): void => {
      runsAtTurn.push(runs);
      if (runs < 1000) clock.setTimer(0, watchTurns);
    };
    watchTurns();
    await clock.advance(10);
    expect(runs).toBe(1000);
    expect(runsAtTurn.length).toBeGreaterThan(10);
  });

  test("a result can ask for another run, and a change comes first", async () => {
    const runsAtMs: number[] = [];
    const { clock, world, lead } = rig(async () => {
      runsAtMs.push(clock.monotonic());
      return { requeueAfterMs: 1000 };
    });
    world.put("a", 1);
    lead();
    await clock.advance(1_500);
    world.put("a", 2);
    await clock.advance(1_400);
    expect(runsAtMs).toEqual([0, 1000, 1500, 2500]);
  });

  test("keys asked for by the controller run, also when asked for before the term, and again in the next one if not done", async () => {
    const runs: string[] = [];
    const { clock, lead, scope } = rig(async ({ key }) => {
      runs.push(key);
      return key === "period" ? { requeueAfterMs: 60_000 } : {};
    });
    scope?.enqueue("period");
    scope?.enqueue("once", { afterMs: 500 });
    const first = lead();
    await clock.advance(1_000);
    expect(runs).toEqual(["period", "once"]);
    first.stop();
    await first.ended;
    lead();
    await clock.advance(1_000);
    expect(runs).toEqual(["period", "once", "period"]);
  });
});

describe("deadlines", () => {
  test("a reconcile that hangs is cut, retried, and holds nobody else", async () => {
    const started: string[] = [];
    const { clock, world, reports, lead, runner } = rig(
      async ({ key, signal }) => {
        started.push(key);
        if (key === "test/hang") await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
      { concurrency: 1, deadlineMs: 1_000, backoff: { firstMs: 100, longestMs: 100 } },
    );
    world.put("hang", 1);
    world.put("other", 1);
    lead();
    await clock.advance(1_000);
    expect(started).toEqual(["test/hang", "test/other"]);
    expect(reports[0]).toMatchObject({ key: "test/hang", outcome: { code: "Transient", reason: "DeadlineExceeded" } });
    await clock.advance(100);
    expect(started).toEqual(["test/hang", "test/other", "test/hang"]);
    expect(runner.activity()).toMatchObject({ running: 1, longestRunningMs: expect.closeTo(0, -2) });
  });

  test("one that ignores its signal loses its worker, and its key waits for its end", async () => {
    const started: string[] = [];
    const release = Promise.withResolvers<void>();
    const { clock, world, reports, lead, runner } = rig(
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
    expect(reports.map(({ key }) => key)).toEqual(["test/deaf", "test/other"]);
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
    const { clock, world, lead } = rig(() => (starts++, deaf()));
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

describe("own writes", () => {
  test("a key does not run again from a cache that has not shown its write, and holds no worker meanwhile", async () => {
    const sizes: (number | undefined)[] = [];
    let others = 0;
    const { clock, world, lead, scope } = rig(
      async ({ key, client }) => {
        if (key !== "test/a") {
          others++;
          return;
        }
        const size = world.cache.get(key)?.size;
        sizes.push(size);
        const bigger: Thing = { metadata: { name: "a", namespace: "test" }, size: 2 };
        if (size === 1) await client.apply(thingKind, bigger, { fieldManager: "demo" });
      },
      { concurrency: 1 },
    );
    world.put("a", 1);
    world.lagging = true;
    lead();
    await clock.advance(10);
    scope?.enqueue("test/a");
    scope?.enqueue("other");
    await clock.advance(100_000);
    expect([sizes, others]).toEqual([[1], 1]);
    world.catchUp();
    await clock.advance(10);
    expect(sizes).toEqual([1, 2]);
  });

  test("a write that was under way when its run was cut counts too", async () => {
    const sizes: (number | undefined)[] = [];
    const answer = Promise.withResolvers<void>();
    const world = new SmallWorld();
    const { clock, lead } = rig(
      async ({ key, client, signal }) => {
        const size = world.cache.get(key)?.size;
        sizes.push(size);
        if (size === 1) await client.apply(thingKind, { metadata: { name: "a" } }, { fieldManager: "demo" }, signal);
      },
      { deadlineMs: 1_000, backoff: { firstMs: 100, longestMs: 100 } },
      {
        caches: world.caches,
        client: {
          ...world.client,
          apply: async () => {
            await answer.promise;
            return world.put("a", 2) as never;
          },
        },
      },
    );
    world.put("a", 1);
    lead();
    await clock.advance(30_000);
    expect(sizes).toEqual([1]);
    world.lagging = true;
    answer.resolve();
    await clock.advance(10_000);
    expect(sizes).toEqual([1]);
    world.catchUp();
    await clock.advance(1_000);
    expect(sizes).toEqual([1, 2]);
  });
});

describe("outcomes", () => {
  const cases: readonly [string, unknown, ReportedOutcome, "retried" | "left"][] = [
    ["transient", new TransientError("busy", { reason: "Busy" }), { code: "Transient", reason: "Busy", message: "busy" }, "retried"],
    ["terminal", new TerminalError("wrong", { reason: "Wrong" }), { code: "Terminal", reason: "Wrong", message: "wrong" }, "left"],
    ["waiting", new WaitingError("no key yet", { reason: "NoKey" }), { code: "Waiting", reason: "NoKey", message: "no key yet" }, "left"],
    ["a lost connection", new ConnectionError("reset"), { code: "Transient", reason: "ApiServerUnreachable", message: "reset" }, "retried"],
    [
      "a conflict",
      new ApiError("apply x", 409, { reason: "Conflict", message: "changed" }),
      { code: "Transient", reason: "Conflict", message: "apply x: changed" },
      "retried",
    ],
    [
      "an invalid object",
      new ApiError("apply x", 422, { reason: "Invalid", message: "spec.a is required" }),
      { code: "Terminal", reason: "Invalid", message: "apply x: spec.a is required" },
      "left",
    ],
    [
      "a missing right",
      new ApiError("apply x", 403, {
        reason: "Forbidden",
        message: 'deployments.apps "x" is forbidden: User "u" cannot patch resource "deployments/scale" in API group "apps" in the namespace "web"',
      }),
      {
        code: "Transient",
        reason: "Forbidden",
        message: "the operator lacks the right to patch deployments.apps/scale in namespace web; grant it and this goes on by itself",
      },
      "retried",
    ],
    [
      "a bug, whose message may quote a secret",
      new SyntaxError('Unexpected token in JSON at position 0: "hunter2"'),
      {
        code: "Transient",
        reason: "InternalError",
        message: "an unexpected error stopped this run (SyntaxError); the operator's log says where",
      },
      "retried",
    ],
  ];

  test.each(cases)("%s", async (_name, error, outcome, next) => {
    let runs = 0;
    const { clock, world, lead, reports } = rig(() => (runs++, Promise.reject(error)), { backoff: { firstMs: 100, longestMs: 100 } });
    world.put("a", 1);
    lead();
    await clock.advance(0);
    expect(reports).toEqual([{ key: "test/a", outcome }]);
    await clock.advance(100);
    expect(runs).toBe(next === "retried" ? 2 : 1);
    const before = runs;
    world.put("a", 2);
    await clock.advance(0);
    expect(runs).toBe(before + 1);
  });

  test("failures in a row are counted, wait ever longer, and a success forgets them", async () => {
    const failures: number[] = [];
    const atMs: number[] = [];
    const { clock, world, lead } = rig(
      async (run) => {
        failures.push(run.failures);
        atMs.push(clock.monotonic());
        if (failures.length < 4) throw new TransientError("busy", { reason: "Busy" });
      },
      { backoff: { firstMs: 1_000, longestMs: 60_000 } },
    );
    world.put("a", 1);
    lead();
    await clock.advance(10_000);
    world.put("a", 2);
    await clock.advance(10);
    expect(failures).toEqual([0, 1, 2, 3, 0]);
    const gaps = atMs.slice(1, 4).map((ms, index) => ms - (atMs[index] ?? 0));
    expect(gaps.every((gap, index) => gap >= 500 * 2 ** index && gap <= 1_000 * 2 ** index)).toBe(true);
  });

  test("`retryAfterMs` says when, for failures and for waiting", async () => {
    const atMs: number[] = [];
    const { clock, world, lead } = rig(async () => {
      atMs.push(clock.monotonic());
      if (atMs.length === 1) throw new TransientError("busy", { reason: "Busy", retryAfterMs: 3_000 });
      if (atMs.length === 2) throw new WaitingError("soon", { reason: "Soon", retryAfterMs: 7_000 });
    });
    world.put("a", 1);
    lead();
    await clock.advance(20_000);
    expect(atMs).toEqual([0, 3_000, 10_000]);
  });

  test("a report that fails or hangs breaks nothing and holds no other key", async () => {
    const runs: string[] = [];
    const { clock, world, lead } = rig(
      async ({ key }) => void runs.push(key),
      { concurrency: 1 },
      { report: ({ key }) => (key === "test/a" ? Promise.reject(new Error("no")) : key === "test/b" ? deaf() : Promise.resolve()) },
    );
    for (const name of ["a", "b", "c"]) world.put(name, 1);
    lead();
    await clock.advance(12_000);
    expect(runs).toEqual(["test/a", "test/b", "test/c"]);
    for (const name of ["a", "b", "c"]) world.put(name, 2);
    await clock.advance(12_000);
    expect(runs).toEqual(["test/a", "test/b", "test/c", "test/a", "test/c"]);
  });
});

describe("terms", () => {
  test("draining starts nothing new and lets what runs end", async () => {
    const started: string[] = [];
    const ended: string[] = [];
    const { clock, world, lead } = rig(
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
    const { clock, world, lead, reports } = rig(
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
    const { clock, world, lead, reports } = rig(async ({ key, client }) => {
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
});

test("a controller is told whether it may change anything, and when to close what it opened", () => {
  const usual = rig(() => Promise.resolve());
  expect(usual.scope).toMatchObject({ dryRun: false, closed: { aborted: false } });
  usual.runner.close();
  expect(usual.scope?.closed.aborted).toBe(true);
  expect(rig(() => Promise.resolve(), {}, { dryRun: true }).scope?.dryRun).toBe(true);
});
