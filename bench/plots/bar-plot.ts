// Contestants next to each other: a panel per metric, a bar per contestant, and a whisker from the lowest round to the highest.
import type { Summary } from "../measure/statistics.ts";
import { drawing, titleHeight, widthOf } from "./drawing.ts";
import { linearScale, shortNumber } from "./scale.ts";
import { element, label, line } from "./svg.ts";

/** A bar: a contestant that lacks the figure has none. */
export interface Bar {
  readonly label: string;
  readonly ours: boolean;
  readonly figure: Summary | undefined;
}

/** One metric. */
export interface BarPanel {
  readonly heading: string;
  readonly bars: readonly Bar[];
}

const rowHeight = 22;
const headingHeight = 42;
const gap = 16;
const barsWidth = 400;
const figuresWidth = 90;

/** Draws the panels below each other. */
export function barPlot(title: string, panels: readonly BarPanel[]): string {
  const namesWidth = widthOf(panels.flatMap(({ bars }) => bars.map((bar) => bar.label)));
  let y = titleHeight;
  const parts: string[] = [];
  for (const panel of panels) {
    parts.push(drawPanel(panel, { top: y, namesWidth }));
    y += headingHeight + panel.bars.length * rowHeight + gap;
  }
  return drawing({ width: namesWidth + barsWidth + figuresWidth, height: y, title, description: panels.map(inWords).join(" ") }, ...parts);
}

function drawPanel({ heading, bars }: BarPanel, { top, namesWidth }: { readonly top: number; readonly namesWidth: number }): string {
  const scale = linearScale(
    bars.flatMap(({ figure }) => (figure ? [figure.highest] : [])),
    { start: namesWidth, end: namesWidth + barsWidth },
  );
  const bottom = top + headingHeight + bars.length * rowHeight;
  const grid = scale.ticks.map(
    (tick) =>
      line({ x: scale.place(tick), y: top + 36 }, { x: scale.place(tick), y: bottom }, { class: "grid-line" }) +
      label(shortNumber(tick), scale.place(tick), top + 30, { class: "quiet", "text-anchor": "middle" }),
  );
  const rows = bars.map(({ label: name, ours, figure }, index) => {
    const y = top + headingHeight + index * rowHeight;
    const middle = y + rowHeight / 2 - 2;
    const named = label(name, namesWidth - 8, middle + 4, { "text-anchor": "end", ...(ours && { "font-weight": "600" }) });
    if (!figure) return named + label("none", namesWidth + 6, middle + 4, { class: "quiet" });
    const end = scale.place(figure.median);
    const whisker = line(
      { x: scale.place(figure.lowest), y: middle },
      { x: scale.place(figure.highest), y: middle },
      { class: "ink-line", "stroke-width": 1.5 },
    );
    const caps = [figure.lowest, figure.highest].map((value) =>
      line({ x: scale.place(value), y: middle - 3 }, { x: scale.place(value), y: middle + 3 }, { class: "ink-line", "stroke-width": 1.5 }),
    );
    const bar = element("rect", {
      class: ours ? "ours" : "other",
      x: namesWidth,
      y,
      width: Math.max(1, end - namesWidth),
      height: rowHeight - 6,
      rx: 2,
    });
    return [named, bar, whisker, ...caps, label(shortNumber(figure.median), scale.place(figure.highest) + 8, middle + 4)].join("");
  });
  return [label(heading, namesWidth, top + 12, { "font-weight": "600" }), ...grid, ...rows].join("\n");
}

function inWords({ heading, bars }: BarPanel): string {
  return `${heading}: ${bars.map(({ label: name, figure }) => `${name} ${figure ? shortNumber(figure.median) : "none"}`).join(", ")}.`;
}
