// Drawings of any figures: well formed, everything within the frame, every figure said in words too.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { summarize } from "../measure/statistics.ts";
import { barPlot } from "./bar-plot.ts";
import { growthPlot } from "./growth-plot.ts";
import { ratioPlot } from "./ratio-plot.ts";
import { element, escaped } from "./svg.ts";

const figure = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 0.001, max: 1e7, noNaN: true })), { minLength: 1, maxLength: 5 }).map(summarize);
const name = fc.string({ minLength: 1, maxLength: 20 });

const bars = fc
  .array(fc.record({ label: name, ours: fc.boolean(), figure: fc.option(figure, { nil: undefined }) }), { minLength: 1, maxLength: 7 })
  .map((bars) => barPlot("Figures", [{ heading: "time, ms", bars }]));
const growth = fc
  .tuple(figure, figure, figure)
  .map(([one, two, three]) =>
    growthPlot("Growth", "objects", [{ heading: "CPU, ms", points: [one, two, three].map((figure, index) => ({ size: 100 * 2 ** index, figure })) }]),
  );
const ratios = fc
  .array(fc.record({ label: name, reached: figure, goal: fc.double({ min: 0.01, max: 4, noNaN: true }), met: fc.boolean() }), { minLength: 1 })
  .map((rows) => ratioPlot("Ratios", rows));

/** The tags in their order must close as they opened. */
function isWellFormed(svg: string): boolean {
  const open: string[] = [];
  for (const [, closing, tag = "", alone] of svg.matchAll(/<(\/?)([a-z]+)(?:\s+[a-zA-Z0-9-]+="[^"<]*")*\s*(\/?)>/g)) {
    if (closing && open.pop() !== tag) return false;
    if (!closing && !alone) open.push(tag);
  }
  const left = svg.replaceAll(/<(\/?)([a-z]+)(?:\s+[a-zA-Z0-9-]+="[^"<]*")*\s*(\/?)>/g, "");
  return open.length === 0 && !left.includes("<");
}

function isWithinFrame(svg: string): boolean {
  const [, width = 0, height = 0] = (/width="(\d+)" height="(\d+)"/.exec(svg) ?? []).map(Number);
  const inside = (attribute: string, most: number): boolean =>
    [...svg.matchAll(new RegExp(` ${attribute}="(-?[\\d.]+)"`, "g"))].every(([, value]) => Number(value) >= 0 && Number(value) <= most);
  return (
    ["x", "x1", "x2", "cx"].every((attribute) => inside(attribute, width)) && ["y", "y1", "y2", "cy"].every((attribute) => inside(attribute, height))
  );
}

describe.each([
  ["bars", bars],
  ["growth", growth],
  ["ratios", ratios],
])("%s", (_, drawings) => {
  test("are well formed and within their frame", () => {
    fc.assert(
      fc.property(drawings, (svg) => {
        expect(isWellFormed(svg)).toBe(true);
        expect(isWithinFrame(svg)).toBe(true);
      }),
    );
  });
});

test("what a drawing shows stands in its description too", () => {
  const svg = barPlot("Memory", [{ heading: "peak, MB", bars: [{ label: "Keyturn", ours: true, figure: summarize([92]) }] }]);
  expect(svg).toContain("<title>Memory</title>");
  expect(svg).toContain("<desc>peak, MB: Keyturn 92.</desc>");
});

test("a goal that was missed is a cross, one that was met a dot", () => {
  const row = { label: "time", reached: summarize([1.2]), goal: 1, met: false };
  expect(ratioPlot("Ratios", [row])).not.toContain("<circle");
  expect(ratioPlot("Ratios", [{ ...row, met: true }])).toContain("<circle");
});

test("names from anywhere cannot break a drawing, and a figure that is none is an error", () => {
  expect(escaped(`<&">`)).toBe("&lt;&amp;&quot;&gt;");
  expect(() => element("rect", { x: Number.NaN })).toThrow("is no place on a page");
});
