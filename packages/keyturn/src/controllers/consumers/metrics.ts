// Which workloads are behind what they use, what is being done about it and what is in the way, in numbers.
import { type MetricRow, type Metrics, metricsOf } from "@keyturn/runtime";
import type { RolloutMetrics } from "../../workloads/inspector.ts";
import { rolloutMetricsOf } from "../../workloads/rollout-metrics.ts";

const reason = ["reason"] as const;

export const consumersMetrics = {
  keyturn_consumers_outdated_workloads: {
    type: "gauge",
    help: "Workloads whose pods were started with something else than what they use now, by what is wrong.",
    labels: reason,
  },
  keyturn_consumers_waiting_workloads: { type: "gauge", help: "Those that will be restarted, by what they wait for.", labels: reason },
  keyturn_consumers_skipped_workloads: { type: "gauge", help: "Those that are not restarted, by why.", labels: reason },
  keyturn_consumers_unknown_workloads: {
    type: "gauge",
    help: "Workloads of which it is not known whether a restart would help, by why.",
    labels: reason,
  },
  keyturn_consumers_rolling_workloads: { type: "gauge", help: "Restarted workloads whose rollout is not finished.", labels: [] },
  keyturn_consumers_stuck_rollouts: { type: "gauge", help: "Rollouts that did not get healthy in time.", labels: [] },
  keyturn_consumers_restarts_total: {
    type: "counter",
    help: "Workloads that were restarted because something that they use has changed.",
    labels: reason,
  },
  keyturn_consumers_restart_failures_total: { type: "counter", help: "Restarts that the API server did not take; they are tried again.", labels: [] },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Counts and shows for the controller. */
export function consumersRolloutMetrics(metrics: Metrics): RolloutMetrics {
  const of = metricsOf(metrics, consumersMetrics);
  return rolloutMetricsOf({
    outdated: of.keyturn_consumers_outdated_workloads,
    waiting: of.keyturn_consumers_waiting_workloads,
    skipped: of.keyturn_consumers_skipped_workloads,
    unknown: of.keyturn_consumers_unknown_workloads,
    rolling: of.keyturn_consumers_rolling_workloads,
    stuck: of.keyturn_consumers_stuck_rollouts,
    restarts: of.keyturn_consumers_restarts_total,
    failures: of.keyturn_consumers_restart_failures_total,
  });
}
