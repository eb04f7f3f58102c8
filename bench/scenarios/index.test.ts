// The times of all scenarios together are those that the commands promise.
import { describe, expect, test } from "vitest";
import type { Contestants } from "../contestants.ts";
import { guardedPart } from "../guard.ts";
import { contestantsOf, type Scenario } from "../scenario.ts";
import { schedule } from "./index.ts";
import { isProbed } from "./probed-twin.ts";

const contestant = (id: string, label: string) => ({ id, label, settings: "", command: { file: id, args: [] } });
const inKebabCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
// Whatever a scenario asks for is there, and is never started.
const contestants = new Proxy({} as Contestants, {
  get:
    (_, peer) =>
    (name: string, label: string, ...args: readonly string[]) =>
      contestant([...(peer === "ours" ? [] : [inKebabCase(String(peer))]), name, ...args].join("-"), label),
});
const scheduled = schedule(contestants);

const seconds = (of: readonly number[]): number => of.reduce((sum, each) => sum + each, 0);

describe("the schedule", () => {
  test("of `make bench-quick` leaves room within five minutes for starting the control planes", () => {
    expect(seconds(scheduled.map(({ quickS }) => quickS ?? 0))).toBeLessThanOrEqual(270);
  });

  test("of `make bench` is 25 minutes, besides starting the control planes", () => {
    expect(seconds(scheduled.map(({ fullS }) => fullS))).toBeLessThanOrEqual(1500);
  });

  test("has each scenario once", () => {
    const ids = scheduled.map(({ scenario }) => scenario.id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe.each(scheduled.map(({ scenario }) => [scenario.id, scenario] as const))("%s", (_, scenario) => {
  test("has the contestants and figures that its goals speak of", () => expectWhole(scenario));

  test("has them in a quick run too", () => expectWhole(guardedPart(scenario)));
});

test("nobody is probed while being compared, and nobody is in a quick run", () => {
  for (const { scenario, quickS } of scheduled) {
    const compared = scenario.goals.flatMap((goal) => (goal.type === "ratio" ? [goal.contestant, goal.of] : []));
    expect(compared.filter((id) => id.endsWith("-probed"))).toEqual([]);
    if (quickS !== undefined) expect(guardedPart(scenario).contestants.filter(isProbed)).toEqual([]);
  }
});

function expectWhole(scenario: Scenario): void {
  const contestants = new Set(scenario.contestants.map(({ id }) => id));
  const metrics = new Set(scenario.metrics.map(({ id }) => id));
  expect(contestants.size).toBe(scenario.contestants.length);
  for (const goal of scenario.goals) {
    for (const id of contestantsOf(goal)) expect(contestants).toContain(id);
    expect(metrics).toContain(goal.metric);
  }
  for (const { id } of scenario.warmUp ?? []) expect(contestants).toContain(id);
}
