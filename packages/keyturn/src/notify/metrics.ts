// What became of notifications, in numbers.
import type { MetricRow } from "@keyturn/runtime";

export const notifyMetrics = {
  keyturn_notifications_total: {
    type: "counter",
    help: "Notifications by what became of them: sent, failed (refused, or tried in vain) or dropped (too many were waiting, or the process ended).",
    labels: ["result"],
  },
} as const satisfies Readonly<Record<string, MetricRow>>;
