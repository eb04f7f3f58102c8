// The lines of a metric whose series are single numbers.
import type { SeriesIndex } from "./series-index.ts";
import { sampleText } from "./text-format.ts";

/** One line per series. */
export function valueLines(name: string, series: SeriesIndex<{ readonly value: number }>): readonly string[] {
  const lines: string[] = [];
  series.forEach((labels, { value }) => lines.push(sampleText(name, labels, value)));
  return lines;
}
