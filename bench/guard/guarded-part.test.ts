// The quick run has every guarded ratio, whole, and nobody who takes part for something else.
import { expect, test } from "vitest";
import type { Goal, Scenario } from "../scenario.ts";
import { guardedPart } from "./guarded-part.ts";

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
