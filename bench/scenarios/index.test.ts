// The times of all scenarios together are those that the commands promise.
import { describe, expect, test } from "vitest";
import type { Contestants } from "../contestants.ts";
import { schedule } from "./index.ts";

const contestant = (id: string, label: string) => ({ id, label, settings: "", command: { file: id, args: [] } });
const inKebabCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
// Whatever a scenario asks for is there, and is never started.
const contestants = new Proxy({} as Contestants, {
  get: (_, peer) => (name: string, label: string) => contestant(peer === "ours" ? name : `${inKebabCase(String(peer))}-${name}`, label),
});
const scheduled = schedule(contestants);

const seconds = (of: readonly number[]): number => of.reduce((sum, each) => sum + each, 0);

describe("the schedule", () => {
  test("of `make bench-quick` leaves room within five minutes for starting the control plane", () => {
    expect(seconds(scheduled.map(({ quickS }) => quickS ?? 0))).toBeLessThanOrEqual(270);
  });

  test("of `make bench` is about half an hour", () => {
    expect(seconds(scheduled.map(({ fullS }) => fullS))).toBeLessThanOrEqual(2100);
  });

  test("has each scenario once", () => {
    const ids = scheduled.map(({ scenario }) => scenario.id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

test.each(scheduled.map(({ scenario }) => [scenario.id, scenario] as const))(
  "%s has the contestants and figures that its goals and drawings speak of",
  (_, scenario) => {
    const contestants = new Set(scenario.contestants.map(({ id }) => id));
    const metrics = new Set(scenario.metrics.map(({ id }) => id));
    expect(contestants.size).toBe(scenario.contestants.length);
    for (const goal of scenario.goals) {
      const named = goal.type === "growth" ? Object.keys(goal.sizes) : goal.type === "ratio" ? [goal.contestant, goal.of] : [goal.contestant];
      for (const id of named) expect(contestants).toContain(id);
      expect(metrics).toContain(goal.metric);
    }
    for (const plot of scenario.plots ?? []) for (const id of plot.metrics) expect(metrics).toContain(id);
  },
);
