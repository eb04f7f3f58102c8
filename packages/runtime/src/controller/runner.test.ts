// Which keys a controller's runner runs and when, in virtual time.
import { describe, expect, test } from "vitest";
import type { ObjectKey } from "../client/kind.ts";
import { createLogger } from "../observe/logger.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { runnerRig, type RunnerRig } from "./runner-rig.fixture.ts";
import { type KeyView, ShownKeys } from "./runner.ts";
import { SmallWorld, type Thing, thingKind } from "./small-world.fixture.ts";

test("every key there is runs at the start of a term, and each change runs its key", async () => {
  const runs: string[] = [];
  const { clock, world, lead } = runnerRig(async ({ key }) => void runs.push(key));
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
  const { clock, world, lead } = runnerRig(
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
  const { clock, world, lead } = runnerRig(async () => void runs++);
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

describe("a term that begins with very many objects", () => {
  /** Virtual time in which every look at the clock takes a while, as work does. */
  class TickingClock extends VirtualClock {
    #looks = 0;

    override monotonic(): number {
      return super.monotonic() + 0.01 * this.#looks++;
    }
  }

  function begin() {
    const runs = new Set<string>();
    const { world, lead } = runnerRig(async ({ key }) => void runs.add(key), {}, { clock: new TickingClock() });
    for (let i = 0; i < 2000; i++) world.put(`thing-${i}`, 1);
    return { world, runs, term: lead() };
  }

  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  test("lets other things happen before all of them are queued, and hears of those", async () => {
    const { world, runs } = begin();
    world.put("late", 1);
    await turn();
    expect(runs.size).toBe(0);
    while (runs.size === 0) await turn();
    // Changes come before what is only there.
    expect(Array.from(runs)[0]).toBe("test/late");
  });

  test.each(["drain", "stop"] as const)("ends at once when it is told to %s", async (how) => {
    const { runs, term } = begin();
    term[how]();
    await term.ended;
    expect(runs.size).toBe(0);
  });
});

test("a result can ask for another run, and a change comes first", async () => {
  const runsAtMs: number[] = [];
  const { clock, world, lead } = runnerRig(async () => {
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
  const { clock, lead, scope } = runnerRig(async ({ key }) => {
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

describe("own writes", () => {
  test("a key does not run again from a cache that has not shown its write, and holds no worker meanwhile", async () => {
    const sizes: (number | undefined)[] = [];
    let others = 0;
    const { clock, world, lead, scope } = runnerRig(
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
    const { clock, lead } = runnerRig(
      async ({ key, client, signal }) => {
        const size = world.cache.get(key)?.size;
        sizes.push(size);
        if (size === 1) await client.apply(thingKind, { metadata: { name: "a" } }, { fieldManager: "demo" }, signal);
      },
      { deadlineMs: 1_000, backoff: { firstMs: 100, maxMs: 100 } },
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

test("a controller is told whether it may change anything, and when to close what it opened", () => {
  const usual = runnerRig(() => Promise.resolve());
  expect(usual.scope).toMatchObject({ dryRun: false, closed: { aborted: false } });
  usual.runner.close();
  expect(usual.scope?.closed.aborted).toBe(true);
  expect(runnerRig(() => Promise.resolve(), {}, { dryRun: true }).scope?.dryRun).toBe(true);
});

test("what was done is logged and counted; in a dry run it is logged as withheld, and nothing is counted", async () => {
  for (const dryRun of [false, true]) {
    const lines: string[] = [];
    const log = createLogger({ destination: { write: (line) => lines.push(line) } });
    let counted = 0;
    const { world, clock, lead } = runnerRig(async ({ done }) => done("turned a key", { times: 1 }, () => counted++), {}, { dryRun, log });
    world.put("a", 1);
    const { ended, stop } = lead();
    await clock.advance(0);
    stop();
    await ended;
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { controller: "demo", key: "test/a", times: 1, msg: dryRun ? "would have turned a key; withheld by dry run" : "turned a key" },
    ]);
    expect(counted).toBe(dryRun ? 0 : 1);
  }
});

// What a controller shows of its keys comes and goes with its terms, in virtual time.

/** A view that remembers what is shown, and that fails where it is asked to hide what is not. */
function recordingView(): { readonly shown: Map<ObjectKey, number>; readonly view: KeyView<number> } {
  const shown = new Map<ObjectKey, number>();
  const hide = (key: ObjectKey): void => {
    if (!shown.delete(key)) throw new Error(`${key} is not shown`);
  };
  return { shown, view: { show: (key, value) => void shown.set(key, value), hide } };
}

/** A controller that shows the size of each thing. Runs of `test/deaf` do not listen, and end when released. */
function showingRig(): RunnerRig & { readonly shown: ReadonlyMap<ObjectKey, number>; readonly release: () => void } {
  const { shown, view } = recordingView();
  const held = Promise.withResolvers<void>();
  const rig = runnerRig(async ({ key }) => {
    if (key === "test/deaf") await held.promise;
    show?.(key, rig.world.cache.get(key)?.size);
  });
  const show = rig.scope?.show(view);
  return { ...rig, shown, release: () => held.resolve() };
}

test("what a term has shown is hidden when it is stopped, and shown again by the next one as it is then", async () => {
  const { clock, world, lead, shown } = showingRig();
  world.put("a", 1);
  world.put("b", 2);
  const first = lead();
  await clock.advance(10);
  expect([...shown]).toEqual([
    ["test/a", 1],
    ["test/b", 2],
  ]);
  first.stop();
  // At once, not when the last run has ended.
  expect([...shown]).toEqual([]);
  await first.ended;
  world.put("a", 3);
  await clock.advance(10_000);
  expect([...shown]).toEqual([]);
  lead();
  await clock.advance(10);
  expect([...shown]).toEqual([
    ["test/a", 3],
    ["test/b", 2],
  ]);
});

test("while a term is drained its keys are still this process's; when it has ended they are not", async () => {
  const { clock, world, lead, shown, release } = showingRig();
  world.put("a", 1);
  world.put("deaf", 2);
  const term = lead();
  await clock.advance(10);
  term.drain();
  await clock.advance(1_000);
  expect([...shown.keys()]).toEqual(["test/a"]);
  release();
  await term.ended;
  expect([...shown]).toEqual([]);
});

test("a run that outlives its term shows nothing", async () => {
  const { clock, world, lead, shown, release } = showingRig();
  world.put("deaf", 1);
  const term = lead();
  await clock.advance(10);
  term.stop();
  await clock.advance(10_000);
  await term.ended;
  release();
  await clock.advance(10);
  expect([...shown]).toEqual([]);
});

test("nothing is hidden that was not shown", () => {
  const { shown, view } = recordingView();
  let active = false;
  const keys = new ShownKeys(view, () => active);
  keys.set("a", 1);
  active = true;
  keys.set("a", undefined);
  keys.set("a", 1);
  keys.set("a", undefined);
  keys.set("a", undefined);
  keys.sweep();
  expect([...shown]).toEqual([]);
});
