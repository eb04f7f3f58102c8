// `keyturn history <set>`: the versions of a rotation set.
import { rotationHistoryReport } from "../controllers/rotation/history-report.ts";
import type { Query, Report } from "../controllers/report.ts";
import { reportEverywhere, rotationKinds } from "../controllers/rotation/set-query.ts";
import { readFlags } from "../flags/flag.ts";
import type { Console } from "./console.ts";
import { allNamespacesFlag } from "./output.ts";
import { answerQuery, followedQueryFlags } from "./query.ts";

export const historyFlags = [...followedQueryFlags, allNamespacesFlag];

/** Prints the versions of a set, when they were seen and where they are. */
export function historyCommand(given: Readonly<Record<string, string | undefined>>, console: Console, [set = ""]: readonly string[]): Promise<void> {
  const { allNamespaces } = readFlags({ allNamespaces: allNamespacesFlag }, given, console.environment);
  const headed = async (query: Query): Promise<Report> => {
    const { text, data } = await rotationHistoryReport(query, set);
    return { text: `set ${set} in namespace ${query.namespace}\n${text}`, data };
  };
  return answerQuery(given, console, (query) => (allNamespaces ? reportEverywhere(query, set, headed) : rotationHistoryReport(query, set)), {
    kinds: rotationKinds,
    allNamespaces,
  });
}
