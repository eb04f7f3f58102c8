// Killed before and after every write, refused at every one, asked in vain at every question to the API server and to istiod, and with two leaders at once: each reason
// restarts a workload once.
import { describe, expect, test } from "vitest";
import { type Fault, SweptWorld } from "./swept-world.ts";

const workloads = { a: true, b: true, c: true, d: true, current: false };
const once = { a: 1, b: 1, c: 1, d: 1, current: 0 };

/** How often each workload was restarted in the end, and what is left of it. */
function outcome({ restartCounts, labelled, mostRolling }: SweptWorld): unknown {
  return { restartCounts, labelled, mostRolling };
}
/** What is swept: all of each sort, and a few more, because a fault makes for further requests. */
const swept = { write: 12, question: 5, call: 10 };
const done = { restartCounts: once, labelled: [], mostRolling: 2 };

describe("each workload is restarted once, and in the end nothing is left to do", () => {
  test("without a fault, and there is something to sweep", async () => {
    const world = new SweptWorld({ workloads });
    await world.pass(180);
    expect(outcome(world)).toEqual(done);
    for (const sort of ["write", "question", "call"] as const) {
      expect(world.counted[sort]).toBeGreaterThanOrEqual(4);
      expect(world.counted[sort]).toBeLessThanOrEqual(swept[sort]);
    }
  });

  test("by two leaders at once", async () => {
    const world = new SweptWorld({ workloads, elects: false });
    await world.pass(240);
    expect(world.restartCounts).toEqual(once);
    expect(world.labelled).toEqual([]);
  });

  test.each([
    [1, 2],
    [1, 4],
    [2, 4],
    [2, 5],
    [3, 5],
    [3, 6],
    [4, 6],
    [4, 7],
  ])("by a leader that is cut off at write %i, one after it at write %i, and the first again", async (...cuts) => {
    const world = new SweptWorld({ workloads, cuts });
    await world.pass(900);
    expect(outcome(world)).toEqual(done);
  });

  test("while writes take long, no restart rests on what istiod said before them", async () => {
    const world = new SweptWorld({ workloads, fault: { sort: "write", at: 2, what: "slow, and istiod gone" } });
    await world.pass(120);
    expect(world.restartCounts).toEqual({ ...once, b: 0, c: 0, d: 0 });
    world.isSilent = false;
    await world.pass(600);
    expect(outcome(world)).toEqual(done);
  });

  test("between two that arrive there is the whole delay, also when a write takes long", async () => {
    for (const at of [1, 2, 3, 4]) {
      const world = new SweptWorld({ workloads, fault: { sort: "write", at, what: "slow" }, restartDelay: "30s" });
      await world.pass(600);
      expect(outcome(world)).toEqual({ ...done, mostRolling: 1 });
      const apart = world.arrivedMs.slice(1).map((atMs, index) => atMs - (world.arrivedMs[index] ?? 0));
      expect(Math.min(...apart)).toBeGreaterThanOrEqual(30_000);
    }
  });

  const seeds = Array.from({ length: 40 }, (_, index) => index + 1);
  test.each(seeds)("whatever a tenant writes on workloads of its own, with seed %i", async (seed) => {
    const world = new SweptWorld({ workloads, tenant: { seed, owns: ["a", "b"] } });
    await world.pass(1200);
    const { a = 0, b = 0, ...others } = world.ownRestarts;
    expect([Math.max(a, b) <= 1, others]).toEqual([true, { c: 1, d: 1 }]);
    expect(world.mostOwn).toBeLessThanOrEqual(2);
  });

  const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, index) => index + 1);
  const faultsOf = (sort: Fault["sort"], whats: readonly Fault["what"][]): readonly Fault[] =>
    upTo(swept[sort]).flatMap((at) => whats.map((what) => ({ sort, at, what })));
  test.each([
    ...faultsOf("write", ["killed before", "killed after", "refused", "overtaken", "killed before and overtaken"]),
    ...faultsOf("question", ["unanswered", "refused", "killed after"]),
    ...faultsOf("call", ["unanswered", "refused", "killed before"]),
  ])("$what at $sort $at", async (fault) => {
    const world = new SweptWorld({ workloads, fault });
    await world.pass(600);
    expect(outcome(world)).toEqual(done);
  });

  test.each([...faultsOf("write", ["killed after"]), ...faultsOf("call", ["unanswered"])])(
    "with two leaders at once, $what at $sort $at",
    async (fault) => {
      const world = new SweptWorld({ workloads, fault, elects: false });
      await world.pass(300);
      expect(world.restartCounts).toEqual(once);
      expect(world.labelled).toEqual([]);
    },
  );
});
