// README.md of the chart: how to install, and the reference of its values.
import { type ChartValue, readChartValues } from "./chart-values.ts";
import { markdownTable } from "./markdown-table.ts";

/** The page as Markdown, from the text that stands before the table and the text of values.yaml. */
export function chartReadme(introduction: string, valuesText: string): string {
  const rows = readChartValues(valuesText).flatMap(rowsOf);
  return [introduction.trimEnd(), "## Values", markdownTable(["value", "default", "meaning"], rows), ""].join("\n\n");
}

function rowsOf({ path, description, default: value, fields }: ChartValue): readonly (readonly string[])[] {
  if (fields.length > 0) return fields.flatMap(rowsOf);
  return [[`\`${path.join(".")}\``, `\`${JSON.stringify(value)}\``, description ?? ""]];
}
