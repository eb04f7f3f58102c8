// What operations gets to see of this feature's metrics: alerts and panels of the Grafana dashboard.
import type { Alert, Panel } from "../../feature/feature.ts";

export const sidecarsAlerts: readonly Alert[] = [
  {
    alert: "KeyturnRestartsStuck",
    expr: 'keyturn_sidecars_stuck_rollouts > 0\n  unless on (instance) leader_election_master_status{name="keyturn-sidecars"} == 0',
    for: "5m",
    severity: "critical",
    summary: "{{ $value }} restarted workloads are not healthy in time.",
    description:
      "A workload that was restarted for its sidecar did not get healthy in time, and all further restarts are held back. `keyturn plan sidecars` names it.",
  },
  {
    alert: "KeyturnRestartsRefused",
    expr: "increase(keyturn_sidecars_restart_failures_total[15m]) > 3",
    for: "15m",
    severity: "warning",
    summary: "Restarts are refused.",
    description: "In 15 minutes, the API server has not taken {{ $value }} restarts. The log says why.",
  },
  {
    alert: "KeyturnSidecarsUnknown",
    expr: 'sum by (reason) (keyturn_sidecars_unknown_workloads\n  unless on (instance) leader_election_master_status{name="keyturn-sidecars"} == 0) > 0',
    for: "1h",
    severity: "warning",
    summary: "Of {{ $value }} workloads it is not known whether their sidecar is outdated ({{ $labels.reason }}).",
    description: "For an hour, it could not be found out what new pods of {{ $value }} workloads would get. `keyturn plan sidecars` shows which.",
  },
];

export const sidecarsPanels: readonly Panel[] = [
  {
    title: "Workloads",
    lines: [
      ["sum(keyturn_sidecars_outdated_workloads)", "outdated"],
      ["sum(keyturn_sidecars_waiting_workloads)", "waiting"],
      ["sum(keyturn_sidecars_rolling_workloads)", "rolling"],
      ["sum(keyturn_sidecars_stuck_rollouts)", "stuck"],
      ["sum(keyturn_sidecars_unknown_workloads)", "unknown"],
    ],
  },
  { title: "Restarts", unit: "ops", lines: [["sum by (reason) (rate(keyturn_sidecars_restarts_total[$__rate_interval]))", "{{reason}}"]] },
  {
    title: "Injection webhooks: 95th percentile",
    unit: "s",
    lines: [
      ["histogram_quantile(0.95, sum by (webhook, le) (rate(keyturn_sidecars_webhook_duration_seconds_bucket[$__rate_interval])))", "{{webhook}}"],
    ],
  },
];
