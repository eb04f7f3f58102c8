// All ratios at a glance: each with its goal, on one logarithmic axis with 1 in sight. What is met is a dot, what is missed a cross, so that it reads without colours.
import type { Summary } from "../measure/statistics.ts";
import { drawing, titleHeight, widthOf } from "./drawing.ts";
import { logScale, shortNumber } from "./scale.ts";
import { element, label, line } from "./svg.ts";

/** One ratio. */
export interface RatioRow {
  readonly label: string;
  readonly reached: Summary;
  readonly goal: number;
  readonly met: boolean;
}

const rowHeight = 20;
const plotWidth = 380;
const axisHeight = 46;
/** A ratio below this is drawn at the edge: one that is nearly nothing would press all others together. */
const lowestShown = 0.1;

/** Draws a row for each. */
export function ratioPlot(title: string, rows: readonly RatioRow[]): string {
  const namesWidth = Math.max(320, widthOf(rows.map((row) => row.label)));
  const top = titleHeight + 4;
  const bottom = top + rows.length * rowHeight;
  const shown = (value: number): number => Math.max(lowestShown, value);
  const { place, ticks } = logScale(
    [1, 0.5, 2, ...rows.flatMap(({ reached, goal }) => [shown(reached.lowest), shown(reached.highest), shown(goal)])],
    {
      start: namesWidth + 10,
      end: namesWidth + plotWidth,
    },
  );
  const grid = ticks.map(
    (tick) =>
      line({ x: place(tick), y: top }, { x: place(tick), y: bottom }, { class: tick === 1 ? "quiet-line" : "grid-line" }) +
      label(`${shortNumber(tick)}×`, place(tick), bottom + 16, { class: "quiet", "text-anchor": "middle" }),
  );
  const drawn = rows.map(({ label: name, reached, goal, met }, index) => {
    const y = top + index * rowHeight + rowHeight / 2;
    const at = { x: place(shown(reached.median)), y };
    const colour = met ? "good" : "bad";
    return [
      label(name, namesWidth, y + 4, { "text-anchor": "end" }),
      line({ x: place(shown(reached.lowest)), y }, { x: place(shown(reached.highest)), y }, { class: `${colour}-line`, "stroke-width": 1.5 }),
      line({ x: place(shown(goal)), y: y - 7 }, { x: place(shown(goal)), y: y + 7 }, { class: "ink-line", "stroke-width": 2 }),
      met ? element("circle", { class: colour, cx: at.x, cy: at.y, r: 4 }) : cross(at.x, at.y),
    ].join("");
  });
  const legend = label(
    `left is better · upright line: the goal · dot: met · cross: missed · line: lowest to highest round · below ${lowestShown}×: at the edge`,
    16,
    bottom + 36,
    {
      class: "quiet",
    },
  );
  const description = rows.map(
    ({ label: name, reached, goal, met }) => `${name}: ${reached.median.toFixed(2)}, goal ${goal}, ${met ? "met" : "missed"}.`,
  );
  return drawing(
    { width: namesWidth + plotWidth + 30, height: bottom + axisHeight, title, description: description.join(" ") },
    ...grid,
    ...drawn,
    legend,
  );
}

function cross(x: number, y: number): string {
  return element("path", { class: "bad-line", "stroke-width": 2.5, d: `M${(x - 4).toFixed(1)} ${y - 4}l8 8m0 -8l-8 8` });
}
