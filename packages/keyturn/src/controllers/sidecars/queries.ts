// `keyturn plan sidecars`: what would be restarted now, what waits for what, and what nobody restarts; from the operator's own plan.
import { ListedCaches, systemClock } from "@keyturn/runtime";
import type { Query, Report } from "../../feature/feature.ts";
import { renderTable } from "../../text.ts";
import { Fleet, type FleetOptions } from "../../workloads/fleet.ts";
import { skipInWords } from "../../workloads/reasons.ts";
import { recallRestarts } from "../../workloads/restart-memory.ts";
import { type Decision, type Limits, planRollouts, type Row } from "../../workloads/rollout-plan.ts";

/** What to plan for. */
interface PlanReportOptions {
  /** As the operator's flags say. */
  readonly fleet: FleetOptions;
  readonly limits: Limits;
  /** Plans for every namespace, not only for the query's. */
  readonly allNamespaces: boolean;
  /** Where the operator is, which remembers its restarts. Default: it is looked for. */
  readonly operatorNamespace: string | undefined;
}

/**
 * The plan as it stands. What a new pod would get is asked of the API server itself, by creating one without storing it, so that this works from
 * outside the cluster too; who asks needs the right to create pods.
 */
export async function sidecarsPlanReport(
  query: Query,
  { fleet: options, limits, allNamespaces, operatorNamespace }: PlanReportOptions,
): Promise<Report> {
  const { client, signal, nowMs } = query;
  const caches = new ListedCaches({ client, namespace: allNamespaces ? undefined : query.namespace });
  const recall = (until: AbortSignal) => recallRestarts(client, { operatorNamespace, nowMs, signal: until });
  const fleet = new Fleet({ watch: caches.watch, client, clock: { ...systemClock, now: () => nowMs }, signal, recall, asker: "viewer" }, options);
  await fleet.lookForRollouts();
  await caches.fill(signal);
  await Promise.all([fleet.refreshAll(), fleet.recall()]);
  const { rows } = planRollouts(fleet.observed(limits, nowMs), limits, nowMs);
  const isRemembered = fleet.memory !== undefined;
  return {
    text: isRemembered || rows.length === 0 ? textOf(rows) : `${textOf(rows)}\n\n${unremembered}`,
    data: { remembered: isRemembered, workloads: rows.map(dataOf) },
  };
}

const unremembered =
  "what the operator remembers of its restarts could not be read, so labels and annotations of workloads are believed, and it may decide otherwise; name its namespace with --operator-namespace, or ask somebody who may get its Leases";

function textOf(rows: readonly Row[]): string {
  if (rows.length === 0) return "every pod has the sidecar that a new one would get";
  return renderTable(
    ["namespace", "workload", "decision", "why"],
    rows.map(({ ref, decision, why }) => [ref.namespace, `${ref.kind.toLowerCase()}/${ref.name}`, inWords(decision), why]),
  );
}

function inWords(decision: Decision): string {
  switch (decision.type) {
    case "restart":
      return "restart";
    case "rolling":
      return decision.stuck ? "rolling, stuck" : "rolling";
    case "finish":
      return "rolled out";
    case "wait":
      return `wait: ${decision.reason}${untilInWords(decision.untilMs)}`;
    case "skip":
      return `leave${untilInWords(decision.untilMs)}: ${skipInWords(decision.reason)}`;
    case "unknown":
    default:
      return `unknown: ${decision.reason}`;
  }
}

function untilInWords(untilMs: number | undefined): string {
  return untilMs === undefined ? "" : ` until ${new Date(untilMs).toISOString()}`;
}

function dataOf({ ref, decision, outdated, why }: Row): object {
  const until = "untilMs" in decision && decision.untilMs !== undefined ? { until: new Date(decision.untilMs).toISOString() } : {};
  return {
    ...ref,
    decision: decision.type,
    ...("reason" in decision && { reason: decision.reason }),
    ...until,
    ...(outdated && { outdated }),
    ...(why !== "" && { why }),
  };
}
