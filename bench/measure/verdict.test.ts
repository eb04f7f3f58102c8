// Goals against figures: medians, worst rounds, ratios round by round, growth, and those who do not finish.
import { describe, expect, test } from "vitest";
import type { Contestant, Goal, Sample } from "../scenario.ts";
import type { ScenarioResult } from "./rounds.ts";
import { judge, quantile, summarize } from "./verdict.ts";

const contestant = (id: string): Contestant => ({ id, label: id, settings: "", command: { file: id, args: [] } });

function result(goals: readonly Goal[], samples: Readonly<Record<string, readonly Sample[]>>): Pick<ScenarioResult, "scenario" | "results"> {
  const metrics = ["ms", "hold"].map((id) => ({ id, label: id, unit: "" }) as const);
  const scenario = { id: "race", title: "", method: "", contestants: [], metrics, goals };
  return { scenario, results: Object.entries(samples).map(([id, samples]) => ({ contestant: contestant(id), samples })) };
}

describe("a ratio", () => {
  const goal: Goal = { text: "", contestant: "ours", metric: "ms", type: "ratio", of: "peer", atMost: 1 };

  test("is the median of the rounds' ratios, not the ratio of the medians", () => {
    const [verdict] = judge(result([goal], { ours: [{ ms: 1 }, { ms: 30 }, { ms: 2 }], peer: [{ ms: 2 }, { ms: 20 }, { ms: 4 }] }));
    expect(verdict).toMatchObject({ met: true, reached: { median: 0.5, lowest: 0.5, highest: 1.5 } });
  });

  test("is taken of the rounds that both finished, each with its own", () => {
    const [verdict] = judge(result([goal], { ours: [{ ms: 1 }, { ms: 30 }, { ms: 3 }], peer: [{ ms: 2 }, {}, { ms: 1 }] }));
    expect(verdict).toMatchObject({ met: false, reached: { median: 1.75, lowest: 0.5, highest: 3, rounds: 2 } });
  });

  test("is met by whoever finishes next to one that does not, and missed by one that does not", () => {
    expect(judge(result([goal], { ours: [{ ms: 1 }], peer: [{}] }))).toEqual([{ goal, reached: undefined, met: true }]);
    expect(judge(result([goal], { ours: [{}], peer: [{ ms: 1 }] }))).toEqual([{ goal, reached: undefined, met: false }]);
    expect(judge(result([goal], { ours: [{}], peer: [{}] }))).toEqual([{ goal, reached: undefined, met: false }]);
  });
});

test("what must never happen is judged by the worst round", () => {
  const goal: Goal = { text: "", contestant: "ours", metric: "hold", type: "limit", below: 25, over: "worst" };
  const samples = { ours: [{ hold: 3 }, { hold: 26 }, { hold: 4 }] };
  expect(judge(result([goal], samples))[0]?.met).toBe(false);
  expect(judge(result([{ ...goal, over: "median" }], samples))[0]?.met).toBe(true);
});

test("growth is judged by the median of the rounds' own excesses", () => {
  const goal: Goal = { text: "", metric: "ms", type: "growth", sizes: { small: 100, middle: 200, large: 400 }, resolution: 1, atMost: 1.1 };
  const linear = { small: [{ ms: 10 }, { ms: 10 }], middle: [{ ms: 20 }, { ms: 20 }], large: [{ ms: 40 }, { ms: 42 }] };
  expect(judge(result([goal], linear))[0]).toMatchObject({ met: true, reached: { rounds: 2 } });
  const square = { small: [{ ms: 10 }], middle: [{ ms: 40 }], large: [{ ms: 160 }] };
  expect(judge(result([goal], square))[0]?.met).toBe(false);
});

test("a goal for a figure that the scenario does not have is an error", () => {
  const goal: Goal = { text: "", contestant: "ours", metric: "mb", type: "limit", below: 25, over: "median" };
  expect(() => judge(result([goal], { ours: [{ ms: 3 }] }))).toThrow("there is no mb of ours");
});

describe("quantile", () => {
  test("takes the middle value, or the mean of the two", () => {
    expect(quantile([3, 1, 2], 0.5)).toBe(2);
    expect(quantile([4, 1, 2, 3], 0.5)).toBe(2.5);
  });

  test("interpolates towards the ends", () => {
    expect(quantile([0, 10], 0.99)).toBeCloseTo(9.9);
    expect(quantile([7], 0.99)).toBe(7);
  });
});

test("a summary has the median and the range", () => {
  expect(summarize([5, 1, 9])).toEqual({ median: 5, lowest: 1, highest: 9, rounds: 3 });
});
