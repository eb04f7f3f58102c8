// Rounds: their order, when they end, and that a scenario's end is reached whatever happens.
import { describe, expect, test } from "vitest";
import type { Bed, Contestant, Goal, Scenario } from "../scenario.ts";
import { inOrder, runScenario } from "./rounds.ts";

const contestant = (id: string): Contestant => ({ id, label: id, settings: "", command: { file: id, args: [] } });

const inTime = (id: string): Goal => ({ type: "limit", text: "", contestant: id, metric: "ms", below: 1, over: "median" });

/** A scenario in which each measurement takes ten seconds, on a clock of its own. */
function race(overrides: Partial<Scenario> = {}) {
  let nowMs = 0;
  const measured: string[] = [];
  const scenario: Scenario = {
    id: "race",
    title: "",
    method: "",
    contestants: ["a", "b"].map(contestant),
    metrics: [],
    goals: ["a", "b"].map(inTime),
    prepare: () => Promise.resolve(),
    measure({ id }) {
      nowMs += 10_000;
      measured.push(id);
      return Promise.resolve({ ms: nowMs });
    },
    ...overrides,
  };
  // No part of these scenarios looks at the cluster.
  const bed = { quick: true, say: () => {} } as unknown as Bed;
  const run = (budgetMs: number) => runScenario(scenario, bed, { budgetMs, atLeast: 2, atMost: 4, warmUp: true, now: () => nowMs });
  return { run, measured };
}

describe("rounds", () => {
  test("are as many as fit into the time, after one that does not count", async () => {
    const { run, measured } = race();
    const { rounds, results, tookMs } = await run(85_000);
    expect({ rounds, tookMs }).toEqual({ rounds: 3, tookMs: 80_000 });
    expect(results.map(({ samples }) => samples.length)).toEqual([3, 3]);
    expect(measured.join("")).toBe("abbaabba");
  });

  test("are never fewer than the least, nor more than the most", async () => {
    expect((await race().run(1000)).rounds).toBe(2);
    expect((await race().run(1e9)).rounds).toBe(4);
  });

  test("after the first are without those whom no goal speaks of, or only one that is decided beforehand", async () => {
    const goal: Goal = { type: "ratio", text: "", contestant: "a", metric: "ms", of: "c", atMost: 1, unguarded: true };
    const { run, measured } = race({ contestants: ["a", "b", "c"].map(contestant), goals: [inTime("a"), goal], warmUp: [] });
    const { results } = await run(1000);
    expect(measured.join("")).toBe("cbaa");
    expect(results.map(({ samples }) => samples.length)).toEqual([2, 1, 1]);
  });

  test("are more where the first was long because of those who are in no other", async () => {
    const { run } = race({ contestants: ["a", "b", "c"].map(contestant), goals: [inTime("a")], warmUp: [] });
    const { rounds, tookMs } = await run(60_000);
    expect({ rounds, tookMs }).toEqual({ rounds: 4, tookMs: 60_000 });
  });

  test("can do with less of a warm-up", async () => {
    const { run, measured } = race({ warmUp: [] });
    await run(1000);
    expect(measured.join("")).toBe("baab");
  });
});

test("what was prepared is ended also when a measurement fails", async () => {
  const ended: string[] = [];
  const { run } = race({ measure: () => Promise.reject(new Error("broken")), finish: () => Promise.resolve(void ended.push("ended")) });
  await expect(run(1000)).rejects.toThrow("broken");
  expect(ended).toEqual(["ended"]);
});

test("the order of a round is that of the one before, from its end", () => {
  expect([0, 1, 2, 3].map((round) => inOrder(["a", "b", "c"], round).join(""))).toEqual(["abc", "cba", "abc", "cba"]);
});
