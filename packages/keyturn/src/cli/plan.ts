// `keyturn plan <subject>`: what happens next and when, from the same plans that the operator carries out.
import { rotationPlanReport } from "../controllers/rotation/plan-report.ts";
import { sidecarsFlags } from "../controllers/sidecars/flags.ts";
import { sidecarsOptions } from "../controllers/sidecars/feature.ts";
import { sidecarsPlanReport } from "../controllers/sidecars/plan-report.ts";
import { type Flag, readFlags } from "../flags/flag.ts";
import type { Console } from "./console.ts";
import { allNamespacesFlag, answerQuery, queryFlags } from "./query.ts";

/** The flags of `keyturn plan`: those of the controller are there because its plan depends on them. */
export const planFlags: readonly Flag[] = [...queryFlags, allNamespacesFlag, ...Object.values(sidecarsFlags)];

/** Prints the plan for a rotation set, or with `sidecars` for the workloads whose sidecars are outdated. */
export function planCommand(given: Readonly<Record<string, string | undefined>>, console: Console, [subject = ""]: readonly string[]): Promise<void> {
  return answerQuery(given, console, (query) => {
    // `rotation/sidecars` is a set of that name.
    if (subject !== "sidecars") return rotationPlanReport(query, subject.replace(/^rotation\//, ""));
    const { allNamespaces } = readFlags({ allNamespaces: allNamespacesFlag }, given, console.environment);
    const options = sidecarsOptions((flag) => readFlags({ flag }, given, console.environment).flag);
    return sidecarsPlanReport(query, { options, allNamespaces });
  });
}
