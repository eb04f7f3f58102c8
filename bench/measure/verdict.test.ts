// Goals against figures: medians, worst rounds, and ratios round by round.
import { expect, test } from "vitest";
import type { Contestant, Goal, Sample, Scenario } from "../scenario.ts";
import type { ScenarioResult } from "./rounds.ts";
import { rotated } from "./rounds.ts";
import { judge } from "./verdict.ts";

const contestant = (id: string): Contestant => ({ id, label: id, settings: "", command: { file: id, args: [] } });

function result(goals: readonly Goal[], samples: Readonly<Record<string, readonly Sample[]>>): ScenarioResult {
  const scenario: Scenario = {
    id: "race",
    title: "",
    method: "",
    contestants: [],
    metrics: [],
    goals,
    prepare: () => Promise.resolve(),
    measure: () => Promise.resolve({}),
  };
  return { scenario, results: Object.entries(samples).map(([id, samples]) => ({ contestant: contestant(id), samples })) };
}

test("a ratio is the median of the rounds' ratios, not the ratio of the medians", () => {
  const goal: Goal = { text: "", contestant: "ours", metric: "ms", type: "ratio", of: "peer", atMost: 1 };
  const [verdict] = judge(result([goal], { ours: [{ ms: 1 }, { ms: 30 }, { ms: 2 }], peer: [{ ms: 2 }, { ms: 20 }, { ms: 4 }] }));
  expect(verdict).toMatchObject({ met: true, reached: { median: 0.5, lowest: 0.5, highest: 1.5 } });
});

test("what must never happen is judged by the worst round", () => {
  const goal: Goal = { text: "", contestant: "ours", metric: "hold", type: "limit", below: 25, over: "worst" };
  const samples = { ours: [{ hold: 3 }, { hold: 26 }, { hold: 4 }] };
  expect(judge(result([goal], samples))[0]?.met).toBe(false);
  expect(judge(result([{ ...goal, over: "median" }], samples))[0]?.met).toBe(true);
});

test("a goal for a figure that was not measured is an error", () => {
  const goal: Goal = { text: "", contestant: "ours", metric: "hold", type: "limit", below: 25, over: "median" };
  expect(() => judge(result([goal], { ours: [{ ms: 3 }] }))).toThrow("ours has no hold");
});

test("the order moves on by one each round", () => {
  expect([0, 1, 4].map((round) => rotated(["a", "b", "c"], round).join(""))).toEqual(["abc", "bca", "bca"]);
});
