// What fails a run, what does not, and how it is told.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";
import type { ScenarioResult } from "./measure/rounds.ts";
import {
  afterSecondLook,
  baselineOf,
  failuresIn,
  guard,
  guardedPart,
  guardedRatios,
  guardTable,
  readBaseline,
  suspectsIn,
  writeBaseline,
} from "./guard.ts";
import type { Goal, Scenario } from "./scenario.ts";

const ratioGoal: Goal = { type: "ratio", text: "time, of the peer's", contestant: "ours", metric: "ms", of: "peer", atMost: 1 };
const limitGoal: Goal = { type: "limit", text: "memory", contestant: "ours", metric: "mb", below: 100, over: "median" };

/** A run of one scenario in which we took these times, and the peer 100 each. */
function run(ours: readonly number[]): readonly ScenarioResult[] {
  const contestant = (id: string) => ({ id, label: id, settings: "", command: { file: id, args: [] } });
  const scenario = {
    id: "race",
    title: "",
    method: "",
    contestants: [],
    metrics: ["ms", "mb"].map((id) => ({ id, label: id, unit: "" }) as const),
    goals: [ratioGoal, limitGoal],
  };
  const results = [
    { contestant: contestant("ours"), samples: ours.map((ms) => ({ ms, mb: 50 })) },
    { contestant: contestant("peer"), samples: ours.map(() => ({ ms: 100, mb: 50 })) },
  ];
  return [{ scenario, results, rounds: ours.length, tookMs: 0 }];
}

const head = { date: "2026-11-15", facts: ["2 cores"] };
const baseline = baselineOf(run([98, 100, 102, 99, 101]), head);
const key = "race: ms of ours by peer";

test("only ratios are guarded: they belong to the code, other figures to the machine", () => {
  expect(guardedRatios(run([100])).map((ratio) => ratio.key)).toEqual([key]);
});

test("a planted regression fails the run and names its scenario for a second look", () => {
  const findings = guard(guardedRatios(run([119, 121, 120])), baseline);
  expect(failuresIn(findings)).toHaveLength(1);
  expect([...suspectsIn(findings)]).toEqual(["race"]);
});

test("the same within its noise, and a better one, do not", () => {
  for (const times of [
    [101, 99, 103],
    [50, 51, 49],
  ]) {
    expect(failuresIn(guard(guardedRatios(run(times)), baseline))).toEqual([]);
  }
});

describe("a second look", () => {
  const worse = guard(guardedRatios(run([119, 121, 120])), baseline);
  const fine = guard(guardedRatios(run([101, 99, 100])), baseline);

  test("clears what was worse by chance", () => {
    expect(failuresIn(afterSecondLook(worse, fine))).toEqual([]);
  });

  test("fails what is worse again, and what it could not look at", () => {
    expect(failuresIn(afterSecondLook(worse, worse))).toHaveLength(1);
    expect(failuresIn(afterSecondLook(worse, []))).toHaveLength(1);
  });

  test("is not asked about what was fine the first time", () => {
    expect(failuresIn(afterSecondLook(fine, worse))).toEqual([]);
  });
});

test("what is new, and what is gone, fails the run until the baseline is written anew", () => {
  expect(failuresIn(guard(guardedRatios(run([100])), { ratios: {} }))).toMatchObject([{ type: "new" }]);
  expect(failuresIn(guard([], baseline))).toEqual([{ type: "gone", key }]);
});

test("the table says what was, what is, and what would have been allowed", () => {
  const ratios = { ...baseline.ratios, "race: ms of ours by nobody": [1] };
  expect(guardTable(guard(guardedRatios(run([119, 121, 120])), { ratios }))).toMatchInlineSnapshot(`
    "| ratio                      | baseline |   now | at most |                  |
    | -------------------------- | -------: | ----: | ------: | ---------------: |
    | race: time, of the peer's  |    1.00× | 1.20× |   1.05× |        **worse** |
    | race: ms of ours by nobody |          |       |         | **not measured** |"
  `);
});

test("without a baseline, it is said how to get one", () => {
  expect(() => readBaseline("/nowhere/baseline.json")).toThrow("--write-baseline");
});

test("a baseline is read as it was written, a line for each ratio", async () => {
  const file = join(await temporaryFolder(), "baseline.json");
  writeBaseline(baseline, file);
  expect(readBaseline(file)).toEqual(baseline);
  expect(readFileSync(file, "utf8").split("\n")).toContain(`    "${key}": [0.98, 1, 1.02, 0.99, 1.01]`);
});

describe("the part of a scenario that a quick run has", () => {
  const contestant = (id: string) => ({ id, label: id, settings: "", command: { file: id, args: [] } });
  const [ours, twin, peer, slow] = [contestant("ours"), contestant("ours-probed"), contestant("peer"), contestant("slow")];
  const ratio: Goal = { type: "ratio", text: "", contestant: "ours", metric: "ms", of: "peer", atMost: 1 };
  const unguarded: Goal = { ...ratio, of: "slow", unguarded: true };
  const memory: Goal = { type: "limit", text: "", contestant: "ours", metric: "mb", below: 100, over: "median" };
  const hold: Goal = { ...memory, contestant: "ours-probed", metric: "hold" };
  const race: Scenario = {
    id: "race",
    title: "",
    method: "",
    contestants: [ours, twin, peer, slow],
    metrics: [],
    goals: [ratio, unguarded, memory, hold],
    warmUp: [ours, peer, slow],
    prepare: () => Promise.resolve(),
    measure: () => Promise.resolve({}),
  };

  test("goals and contestants that no guarded ratio needs take no part", () => {
    const { contestants, goals, warmUp } = guardedPart(race);
    expect(contestants).toEqual([ours, peer]);
    expect(goals).toEqual([ratio, memory]);
    expect(warmUp).toEqual([ours, peer]);
  });

  test("a scenario without a guarded ratio stays whole", () => {
    const alone = { ...race, goals: [hold] };
    expect(guardedPart(alone)).toBe(alone);
  });
});
