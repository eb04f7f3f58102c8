// `keyturn plan sidecars|consumers`: what would be restarted now, what waits for what, and what nobody restarts; from the operator's own plan.
import { ListedCaches, systemClock } from "@keyturn/runtime";
import type { Query, Report } from "../feature/feature.ts";
import { renderTable } from "../text.ts";
import { Fleet, type FleetOptions } from "./fleet.ts";
import { skipInWords } from "./reasons.ts";
import { type Decision, type Limits, planRollouts, type Row } from "./rollout-plan.ts";

/** What to plan for. */
interface PlanReportOptions {
  /** As the operator's flags say. */
  readonly fleet: FleetOptions;
  readonly limits: Limits;
  /** Plans for every namespace, not only for the query's. */
  readonly allNamespaces: boolean;
  /** Said if there is nothing to do. */
  readonly current: string;
}

/**
 * The plan as it stands. What a new pod would get is asked of the API server itself, by creating one without storing it, so that this works from
 * outside the cluster too; who asks needs the right to create pods.
 */
export async function rolloutPlanReport(query: Query, { fleet: options, limits, allNamespaces, current }: PlanReportOptions): Promise<Report> {
  const { client, signal, nowMs } = query;
  const caches = new ListedCaches({ client, namespace: allNamespaces ? undefined : query.namespace });
  const fleet = new Fleet({ watch: caches.watch, client, clock: { ...systemClock, now: () => nowMs }, signal, asker: "viewer" }, options);
  await fleet.lookForRollouts();
  await caches.fill(signal);
  await fleet.refreshAll();
  const { rows } = planRollouts(fleet.observed(limits, nowMs), limits, nowMs);
  return { text: rows.length === 0 ? current : textOf(rows), data: { workloads: rows.map(dataOf) } };
}

function textOf(rows: readonly Row[]): string {
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
