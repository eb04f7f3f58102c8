// Which drawings a scenario's results make.
import type { ContestantResult, ScenarioResult } from "../measure/rounds.ts";
import { summarize, type Summary } from "../measure/statistics.ts";
import type { Verdict } from "../measure/verdict.ts";
import { barPlot } from "../plots/bar-plot.ts";
import { growthPlot } from "../plots/growth-plot.ts";
import { ratioPlot } from "../plots/ratio-plot.ts";
import type { Metric, Plot, Sample } from "../scenario.ts";

/** A drawing as a file. */
export interface PlotFile {
  /** Within the folder of images. */
  readonly name: string;
  readonly title: string;
  readonly svg: string;
}

/** A metric with its unit. */
export function headingOf(metric: Metric): string {
  return metric.unit === "" ? metric.label : `${metric.label}, ${metric.unit}`;
}

/** What the rounds gave of one metric; undefined if nothing. */
export function figureOf(samples: readonly Sample[], metric: string): Summary | undefined {
  const values = samples.map((sample) => sample[metric]).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : summarize(values);
}

/** The drawings of a scenario: those it asks for, or bars of all metrics where there is somebody to be next to. */
export function plotsOf(result: ScenarioResult): readonly PlotFile[] {
  const { scenario, results } = result;
  const shared = scenario.metrics.filter(({ id }) => results.filter(({ samples }) => figureOf(samples, id)).length > 1);
  const chosen =
    scenario.plots ?? (shared.length === 0 ? [] : [{ type: "bars", title: scenario.title, metrics: shared.map(({ id }) => id) } as const]);
  return chosen.map((plot, index) => ({
    name: `${scenario.id}${index === 0 ? "" : `-${index + 1}`}.svg`,
    title: plot.title,
    svg: draw(plot, result),
  }));
}

/** All ratios of a run in one drawing; undefined if it has none. */
export function ratiosPlot(verdicts: readonly Verdict[]): PlotFile | undefined {
  const rows = verdicts.flatMap(({ goal, reached, met }) =>
    goal.type === "ratio" && reached ? [{ label: goal.text, reached, goal: goal.atMost, met }] : [],
  );
  const title = "Every ratio, with its goal";
  return rows.length === 0 ? undefined : { name: "ratios.svg", title, svg: ratioPlot(title, rows) };
}

function draw(plot: Plot, { scenario, results }: ScenarioResult): string {
  const metrics = scenario.metrics.filter(({ id }) => plot.metrics.includes(id));
  if (plot.type === "bars") {
    // Who took part for other figures has no row.
    const shown = results.filter(({ samples }) => plot.metrics.some((id) => figureOf(samples, id)));
    const isNamed = ({ contestant }: ContestantResult): boolean => contestant.label.startsWith("Keyturn");
    // Without a name, all are ours: one controller at several sizes.
    const isOurs = shown.some(isNamed) ? isNamed : () => true;
    const panels = metrics.map((metric) => ({
      heading: headingOf(metric),
      bars: shown.map((result) => ({ label: result.contestant.label, ours: isOurs(result), figure: figureOf(result.samples, metric.id) })),
    }));
    return barPlot(plot.title, panels);
  }
  const panels = metrics.map((metric) => ({
    heading: headingOf(metric),
    points: results.flatMap(({ contestant, samples }) => {
      const size = plot.sizes[contestant.id];
      const figure = figureOf(samples, metric.id);
      return size === undefined || !figure ? [] : [{ size, figure }];
    }),
  }));
  return growthPlot(plot.title, plot.axis, panels);
}
