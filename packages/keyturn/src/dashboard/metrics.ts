// The dashboard's own numbers.
import type { MetricRow } from "@keyturn/runtime";

export const dashboardMetrics = {
  keyturn_dashboard_streams: { type: "gauge", help: "Pages of the dashboard that are open.", labels: [] },
  keyturn_dashboard_records: { type: "gauge", help: "Records that the dashboard shows.", labels: [] },
  keyturn_dashboard_refused_total: {
    type: "counter",
    help: "Requests to the dashboard that were refused: token (missing or not good), rights, rate, host, full, or unavailable (the API server could not be asked).",
    labels: ["reason"],
  },
  keyturn_dashboard_streams_ended_total: {
    type: "counter",
    help: "Streams that ended: gone (the page was closed), slow (the page did not read), access (the token or its rights went), stopped.",
    labels: ["reason"],
  },
  keyturn_dashboard_resyncs_total: { type: "counter", help: "Pages that were too slow to follow and got everything anew.", labels: [] },
} as const satisfies Readonly<Record<string, MetricRow>>;
