// The flags for the chart's templates, as data: which value is given as which argument, and when it need not be.
import { yamlLines } from "./yaml-lines.ts";
import { agentFlags } from "../../packages/keyturn/src/agent/flags.ts";
import type { Flag } from "../../packages/keyturn/src/flags/flag.ts";
import { type ChartFlag, camelCase, chartFlags } from "./chart-flags.ts";

/** What an agent counts is what the control plane counts. */
const counted: readonly Flag[] = [
  agentFlags.versionAnnotations,
  agentFlags.secretSelector,
  agentFlags.secretTypes,
  agentFlags.logLevel,
  agentFlags.logFormat,
];

/** The table as YAML: `of` is `operator`, `agent`, or the name of a controller's values. */
export function chartArguments(): string {
  const shared = chartFlags.filter(({ flag, of }) => of !== "agent" && counted.includes(flag)).map((flag): ChartFlag => ({ ...flag, of: "agent" }));
  return yamlLines(
    "Which value is given as which argument; one that is the program's own default is not given. Made from the program's flags.",
    [...chartFlags, ...shared].map(({ flag, path, of }) => ({
      flag: flag.name,
      of: camelCase(of),
      path: path.join("."),
      takes: flag.takes.type,
      default: flag.default ?? "",
    })),
  );
}
