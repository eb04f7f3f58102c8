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
const done = { restartCounts: once, labelled: [], mostRolling: 2 };

describe("each workload is restarted once, and in the end nothing is left to do", () => {
  test("without a fault, and there is something to sweep", async () => {
    const world = new SweptWorld({ workloads });
    await world.pass(180);
    expect(outcome(world)).toEqual(done);
    expect(world.counted.write).toBeGreaterThanOrEqual(8);
    expect(world.counted.question).toBeGreaterThanOrEqual(3);
    expect(world.counted.call).toBeGreaterThanOrEqual(7);
  });

  test("by two leaders at once", async () => {
    const world = new SweptWorld({ workloads, elects: false });
    await world.pass(240);
    expect(world.restartCounts).toEqual(once);
    expect(world.labelled).toEqual([]);
  });

  const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, index) => index + 1);
  const faultsOf = (sort: Fault["sort"], last: number, whats: readonly Fault["what"][]): readonly Fault[] =>
    upTo(last).flatMap((at) => whats.map((what) => ({ sort, at, what })));
  test.each([
    ...faultsOf("write", 12, ["killed before", "killed after", "refused"]),
    ...faultsOf("question", 3, ["unanswered", "refused", "killed after"]),
    ...faultsOf("call", 10, ["unanswered", "refused", "killed before"]),
  ])("$what at $sort $at", async (fault) => {
    const world = new SweptWorld({ workloads, fault });
    await world.pass(600);
    expect(outcome(world)).toEqual(done);
  });
});
