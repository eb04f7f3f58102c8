// `keyturn plan sidecars|consumers`: what would be restarted now, what waits for what, and what nobody restarts; from the operator's own plan.
import { ListedCaches, systemClock } from "@keyturn/runtime";
import type { Query, Report } from "../feature/feature.ts";
import { renderTable } from "../text.ts";
import { Fleet, type FleetOptions } from "./fleet.ts";
import { skipInWords } from "./reasons.ts";
import { recallRestarts } from "./restart-memory.ts";
import { type Decision, type Limits, planRollouts, type Row } from "./rollout-plan.ts";

/** Whom to plan for. */
export interface PlanScope {
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
 * outside the cluster too; who asks needs the right to create pods. `current` is said if there is nothing to do.
 */
export async function rolloutPlanReport(query: Query, { current, ...scope }: PlanScope & { readonly current: string }): Promise<Report> {
  const { rows, fleet } = await plannedOnce(query, scope);
  const text = rows.length === 0 ? current : textOf(rows);
  return {
    text: rows.length === 0 ? text : [text, ...unrememberedNote(fleet)].join("\n\n"),
    data: { remembered: fleet.memory !== undefined, workloads: rows.map(dataOfRow) },
  };
}

/** A fleet of somebody who asks once, and the plan for it. */
export async function plannedOnce(query: Query, { fleet: options, limits, allNamespaces, operatorNamespace }: PlanScope) {
  const { client, signal, nowMs } = query;
  const caches = new ListedCaches({ client, namespace: allNamespaces ? undefined : query.namespace });
  const recall = (until: AbortSignal) => recallRestarts(client, { operatorNamespace, nowMs, signal: until });
  const fleet = new Fleet({ watch: caches.watch, client, clock: { ...systemClock, now: () => nowMs }, signal, recall, asker: "viewer" }, options);
  await fleet.lookForRollouts();
  await caches.fill(signal);
  await Promise.all([fleet.refreshAll(), fleet.recall()]);
  const { rows, due } = planRollouts(fleet.observed(limits, nowMs), limits, nowMs);
  return { rows, due, fleet };
}

/** To be said with a plan that was made without what the operator remembers. */
export function unrememberedNote({ memory }: Pick<Fleet, "memory">): readonly string[] {
  return memory ? [] : [unremembered];
}

const unremembered =
  "what the operator remembers of its restarts could not be read, so labels and annotations of workloads are believed, and it may decide otherwise; name its namespace with --operator-namespace, or ask somebody who may get its Leases";

function textOf(rows: readonly Row[]): string {
  return renderTable(
    ["namespace", "workload", "decision", "why"],
    rows.map(({ ref, decision, why }) => [ref.namespace, `${ref.kind.toLowerCase()}/${ref.name}`, decisionInWords(decision), why]),
  );
}

export function decisionInWords(decision: Decision): string {
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

export function dataOfRow({ ref, decision, outdated, why }: Row): object {
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
