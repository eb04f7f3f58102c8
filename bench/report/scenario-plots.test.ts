// Who is in a drawing of bars, and who stands out in it.
import { expect, test } from "vitest";
import type { ScenarioResult } from "../measure/rounds.ts";
import type { Sample } from "../scenario.ts";
import { plotsOf } from "./scenario-plots.ts";

const metrics = ["ms", "hold"].map((id) => ({ id, label: id, unit: "ms" }) as const);

function drawn(samples: Readonly<Record<string, Sample>>): string {
  const results = Object.entries(samples).map(([label, sample]) => ({
    contestant: { id: label, label, settings: "", command: { file: label, args: [] } },
    samples: [sample],
  }));
  const scenario = { id: "race", title: "A race", method: "", contestants: [], metrics, goals: [] };
  const plots = [{ type: "bars", title: "A race", metrics: ["ms"] }] as const;
  const result: ScenarioResult = { scenario: { ...scenario, plots }, results, rounds: 1, tookMs: 0 };
  return plotsOf(result)
    .map(({ svg }) => svg)
    .join("");
}

const barsOf = (svg: string, whose: "ours" | "other"): number => svg.split(`<rect class="${whose}"`).length - 1;

test("who took part for other figures has no row", () => {
  const svg = drawn({ Keyturn: { ms: 1 }, "Keyturn, probed": { hold: 2 }, peer: { ms: 3 } });
  expect(svg).toContain("<desc>ms, ms: Keyturn 1, peer 3.</desc>");
});

test("ours stands out next to loops that are ours too", () => {
  const svg = drawn({ "Keyturn, all": { ms: 1 }, "bare loop": { ms: 1 }, sha1sum: { ms: 1 } });
  expect([barsOf(svg, "ours"), barsOf(svg, "other")]).toEqual([1, 2]);
});

test("where nobody has our name, all are ours", () => {
  const svg = drawn({ "25 Kymas": { ms: 1 }, "75 Kymas": { ms: 1 } });
  expect([barsOf(svg, "ours"), barsOf(svg, "other")]).toEqual([2, 0]);
});
