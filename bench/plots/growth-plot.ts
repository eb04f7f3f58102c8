// Cost against size: a panel per metric, both axes logarithmic, each size with a whisker from its lowest round to its highest, and the curve of N log N.
import { costAt, fitNLogN } from "../measure/growth.ts";
import type { Summary } from "../measure/statistics.ts";
import { drawing, titleHeight } from "./drawing.ts";
import { linearScale, logScale, type Scale, shortNumber } from "./scale.ts";
import { element, label, line } from "./svg.ts";

/** What was measured at one size. */
export interface GrowthPoint {
  readonly size: number;
  readonly figure: Summary;
}

/** One metric. */
export interface GrowthPanel {
  readonly heading: string;
  readonly points: readonly GrowthPoint[];
}

const panelWidth = 330;
const panelHeight = 220;
const columns = 2;
const margin = { left: 56, right: 18, top: 28, bottom: 42 };
const legendHeight = 26;

/** Draws the panels, two in a row. */
export function growthPlot(title: string, axis: string, panels: readonly GrowthPanel[]): string {
  const rows = Math.ceil(panels.length / columns);
  const drawn = panels.map((panel, index) => {
    const left = (index % columns) * panelWidth;
    const top = titleHeight + Math.floor(index / columns) * panelHeight;
    return drawPanel(panel, axis, { left, top });
  });
  const bottom = titleHeight + rows * panelHeight;
  const legend = [
    element("circle", { class: "ours", cx: margin.left, cy: bottom + 6, r: 4 }),
    label("median, with the lowest and the highest round", margin.left + 10, bottom + 10, { class: "quiet" }),
    line({ x: 390, y: bottom + 6 }, { x: 420, y: bottom + 6 }, { class: "curve-line", "stroke-width": 1.5, "stroke-dasharray": "5 4" }),
    label("a + b · N log N, fitted without the largest", 426, bottom + 10, { class: "quiet" }),
  ];
  const description = panels.map((panel) => inWords(panel, axis)).join(" ");
  return drawing({ width: columns * panelWidth + 20, height: bottom + legendHeight, title, description }, ...drawn, ...legend);
}

function drawPanel({ heading, points }: GrowthPanel, axis: string, { left, top }: { readonly left: number; readonly top: number }): string {
  const frame = {
    left: left + margin.left,
    right: left + panelWidth - margin.right,
    top: top + margin.top,
    bottom: top + panelHeight - margin.bottom,
  };
  const sorted = points.toSorted((a, b) => a.size - b.size);
  // A logarithmic axis has no place for nothing, and a curve through it says nothing.
  const hasNothing = sorted.some(({ figure }) => figure.lowest <= 0);
  const curve = hasNothing ? undefined : fitNLogN(sorted.slice(0, -1).map(({ size, figure }) => ({ size, cost: figure.median })));
  const foretold = curve ? sorted.map(({ size }) => ({ size, cost: costAt(curve, size) })) : [];
  const x = logScale(
    sorted.map(({ size }) => size),
    { start: frame.left, end: frame.right },
  );
  const y = (hasNothing ? linearScale : logScale)(
    [...sorted.flatMap(({ figure }) => [figure.lowest, figure.highest]), ...foretold.map(({ cost }) => cost)],
    {
      start: frame.bottom,
      end: frame.top,
    },
  );
  const path = foretold.map(({ size, cost }, index) => `${index === 0 ? "M" : "L"}${x.place(size).toFixed(1)} ${y.place(cost).toFixed(1)}`).join("");
  return [
    label(heading, frame.left, frame.top - 10, { "font-weight": "600" }),
    ...axes(frame, x, y),
    label(axis, (frame.left + frame.right) / 2, frame.bottom + 34, { class: "quiet", "text-anchor": "middle" }),
    ...(path === "" ? [] : [element("path", { class: "curve-line", d: path, "stroke-width": 1.5, "stroke-dasharray": "5 4" })]),
    ...sorted.map(({ size, figure }) => drawPoint(x.place(size), y, figure)),
  ].join("\n");
}

interface Frame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

function axes(frame: Frame, x: Scale, y: Scale): readonly string[] {
  const rows = y.ticks.map((tick) => {
    const at = y.place(tick);
    return (
      line({ x: frame.left, y: at }, { x: frame.right, y: at }, { class: "grid-line" }) +
      label(shortNumber(tick), frame.left - 6, at + 4, { class: "quiet", "text-anchor": "end" })
    );
  });
  const ticks = x.ticks.map((tick) => {
    const at = x.place(tick);
    return (
      line({ x: at, y: frame.bottom }, { x: at, y: frame.bottom + 4 }, { class: "quiet-line" }) +
      label(shortNumber(tick), at, frame.bottom + 17, { class: "quiet", "text-anchor": "middle" })
    );
  });
  return [...rows, line({ x: frame.left, y: frame.bottom }, { x: frame.right, y: frame.bottom }, { class: "quiet-line" }), ...ticks];
}

function drawPoint(x: number, y: Scale, { median, lowest, highest }: Summary): string {
  return (
    line({ x, y: y.place(lowest) }, { x, y: y.place(highest) }, { class: "ours-line", "stroke-width": 1.5 }) +
    element("circle", { class: "ours", cx: x, cy: y.place(median), r: 4 })
  );
}

function inWords({ heading, points }: GrowthPanel, axis: string): string {
  return `${heading}: ${points.map(({ size, figure }) => `${shortNumber(figure.median)} at ${shortNumber(size)} ${axis}`).join(", ")}.`;
}
