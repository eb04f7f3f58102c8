// `keyturn plan <subject>`: what happens next and when, from the same plans that the operator carries out.
import { DaemonSet, Deployment, Pod, StatefulSet } from "@keyturn/runtime";
import type { FlagReader } from "../controllers/feature.ts";
import type { Query, Report } from "../controllers/report.ts";
import { rotationFlags, rotationWindows } from "../controllers/rotation/flags.ts";
import { rotationPlanReport } from "../controllers/rotation/plan-report.ts";
import { reportEverywhere, rotationKinds } from "../controllers/rotation/set-query.ts";
import { sidecarsFlags } from "../controllers/sidecars/flags.ts";
import { sidecarsOptions } from "../controllers/sidecars/feature.ts";
import { sidecarsPlanReport } from "../controllers/sidecars/plan-report.ts";
import { attentionFlags } from "../flags/attention-flags.ts";
import { type Flag, readFlags } from "../flags/flag.ts";
import type { Console } from "./console.ts";
import { allNamespacesFlag } from "./output.ts";
import { answerQuery, followedQueryFlags } from "./query.ts";

/** The flags of `keyturn plan`: those of the controller are there because its plan depends on them. */
export const planFlags: readonly Flag[] = [
  ...followedQueryFlags,
  allNamespacesFlag,
  ...Object.values(attentionFlags),
  rotationFlags.maintenanceWindows,
  rotationFlags.maintenanceTimeZone,
  ...Object.values(sidecarsFlags),
];

/** Prints the plan for a rotation set, or with `sidecars` for the workloads whose sidecars are outdated. */
export function planCommand(given: Readonly<Record<string, string | undefined>>, console: Console, [subject = ""]: readonly string[]): Promise<void> {
  const { allNamespaces } = readFlags({ allNamespaces: allNamespacesFlag }, given, console.environment);
  // `rotation/sidecars` is a set of that name.
  const flag: FlagReader = (each) => readFlags({ flag: each }, given, console.environment).flag;
  if (subject !== "sidecars") {
    const set = subject.replace(/^rotation\//, "");
    const report = (query: Query): Promise<Report> => rotationPlanReport(query, set, rotationWindows(flag));
    const follows = { kinds: rotationKinds, allNamespaces };
    return answerQuery(given, console, (query) => (allNamespaces ? reportEverywhere(query, set, report) : report(query)), follows);
  }
  const options = sidecarsOptions(flag);
  const follows = { kinds: [Deployment, StatefulSet, DaemonSet, Pod], allNamespaces };
  return answerQuery(given, console, (query) => sidecarsPlanReport(query, { options, allNamespaces }), follows);
}
