// The flags for the chart's templates, as data: which value is given as which argument, and when it need not be.
import { camelCase, type ChartFlag, chartFlags, sharedWithAgent } from "./chart-flags.ts";
import { yamlLines } from "./yaml-lines.ts";

/** The table as YAML: `of` is `operator`, `agent`, or the name of a controller's values. */
export function chartArguments(): string {
  const shared = chartFlags.filter(({ flag, of }) => of !== "agent" && sharedWithAgent.has(flag));
  return yamlLines("Which value is given as which argument; one that is the program's own default is not given. Made from the program's flags.", [
    ...chartFlags.map((flag) => rowOf(flag, flag.of)),
    ...shared.map((flag) => rowOf(flag, "agent")),
  ]);
}

function rowOf({ flag, path }: ChartFlag, of: ChartFlag["of"]): Readonly<Record<string, string>> {
  return { flag: flag.name, of: camelCase(of), path: path.join("."), takes: flag.takes.type, default: flag.default ?? "" };
}
