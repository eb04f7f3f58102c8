// What is outdated, what is being done about it and what is in the way, in numbers.
import { type Metrics, type MetricRow, metricsOf } from "@keyturn/runtime";
import type { RolloutMetrics } from "../../workloads/inspector.ts";
import { rolloutMetricsOf } from "../../workloads/rollout-metrics.ts";
import type { WebhookCall } from "./injection/webhook.ts";

const reason = ["reason"] as const;

export const sidecarsMetrics = {
  keyturn_sidecars_outdated_workloads: {
    type: "gauge",
    help: "Workloads with a pod whose sidecar is not what a new one would get, by what is wrong with it.",
    labels: reason,
  },
  keyturn_sidecars_waiting_workloads: { type: "gauge", help: "Outdated workloads that will be restarted, by what they wait for.", labels: reason },
  keyturn_sidecars_skipped_workloads: { type: "gauge", help: "Outdated workloads that are not restarted, by why.", labels: reason },
  keyturn_sidecars_unknown_workloads: {
    type: "gauge",
    help: "Workloads of which it is not known whether they are outdated, by why.",
    labels: reason,
  },
  keyturn_sidecars_rolling_workloads: { type: "gauge", help: "Restarted workloads whose rollout is not finished.", labels: [] },
  keyturn_sidecars_stuck_rollouts: { type: "gauge", help: "Rollouts that did not get healthy in time.", labels: [] },
  keyturn_sidecars_restarts_total: { type: "counter", help: "Workloads that were restarted, by what was wrong with their sidecar.", labels: reason },
  keyturn_sidecars_restart_failures_total: { type: "counter", help: "Restarts that the API server did not take; they are tried again.", labels: [] },
  keyturn_sidecars_webhook_duration_seconds: {
    type: "histogram",
    help: "How long injection webhooks took to answer, by webhook and outcome.",
    labels: ["webhook", "outcome"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Counts and shows for the controller. */
export function sidecarsRolloutMetrics(metrics: Metrics): RolloutMetrics {
  const of = metricsOf(metrics, sidecarsMetrics);
  return rolloutMetricsOf({
    outdated: of.keyturn_sidecars_outdated_workloads,
    waiting: of.keyturn_sidecars_waiting_workloads,
    skipped: of.keyturn_sidecars_skipped_workloads,
    unknown: of.keyturn_sidecars_unknown_workloads,
    rolling: of.keyturn_sidecars_rolling_workloads,
    stuck: of.keyturn_sidecars_stuck_rollouts,
    restarts: of.keyturn_sidecars_restarts_total,
    failures: of.keyturn_sidecars_restart_failures_total,
  });
}

/** Counts the calls of webhooks. */
export function webhookMetrics(metrics: Metrics): (call: WebhookCall) => void {
  const { keyturn_sidecars_webhook_duration_seconds: duration } = metricsOf(metrics, sidecarsMetrics);
  return ({ webhook, outcome, seconds }) => duration.observe({ webhook, outcome }, seconds);
}
