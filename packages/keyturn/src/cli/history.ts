// `keyturn history <set>`: the versions of a rotation set.
import { rotationHistoryReport } from "../controllers/rotation/history-report.ts";
import { rotationKinds } from "../controllers/rotation/set-query.ts";
import type { Console } from "./console.ts";
import { answerQuery, followedQueryFlags } from "./query.ts";

export const historyFlags = followedQueryFlags;

/** Prints the versions of a set, when they were seen and where they are. */
export function historyCommand(given: Readonly<Record<string, string | undefined>>, console: Console, [set = ""]: readonly string[]): Promise<void> {
  return answerQuery(given, console, (query) => rotationHistoryReport(query, set), { kinds: rotationKinds });
}
