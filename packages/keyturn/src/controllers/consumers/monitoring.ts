// What operations gets to see of this feature's metrics: alerts and panels of the Grafana dashboard.
import type { Alert, Panel } from "../../feature/feature.ts";

const leading = 'unless on (instance) leader_election_master_status{name="keyturn-sidecars"} == 0';

export const consumersAlerts: readonly Alert[] = [
  {
    alert: "KeyturnCredentialRolloutStuck",
    expr: `keyturn_consumers_stuck_rollouts > 0\n  ${leading}`,
    for: "5m",
    severity: "critical",
    summary: "{{ $value }} restarted workloads are not healthy in time.",
    description:
      "A workload that was restarted for a changed Secret or ConfigMap did not get healthy in time. All others that use it keep the old content. `keyturn plan consumers` names it.",
  },
  {
    alert: "KeyturnOldCredentialInUse",
    expr: `keyturn_consumers_outdated_workloads > 0\n  ${leading}`,
    for: "1h",
    severity: "warning",
    summary: "{{ $value }} workloads have run with old content for an hour.",
    description: "Something that they use has changed, and they were not restarted. `keyturn plan consumers` says what they wait for.",
  },
  {
    alert: "KeyturnCredentialRestartsRefused",
    expr: "increase(keyturn_consumers_restart_failures_total[15m]) > 3",
    for: "15m",
    severity: "warning",
    summary: "Restarts are refused.",
    description: "In 15 minutes, the API server has not taken {{ $value }} restarts. The log says why.",
  },
];

export const consumersPanels: readonly Panel[] = [
  {
    title: "Workloads that use credentials",
    lines: [
      ["sum(keyturn_consumers_outdated_workloads)", "with old content"],
      ["sum(keyturn_consumers_waiting_workloads)", "waiting"],
      ["sum(keyturn_consumers_rolling_workloads)", "rolling"],
      ["sum(keyturn_consumers_stuck_rollouts)", "stuck"],
      ["sum(keyturn_consumers_unknown_workloads)", "unknown"],
    ],
  },
  { title: "Restarts for credentials", unit: "ops", lines: [["sum(rate(keyturn_consumers_restarts_total[$__rate_interval]))", "restarts"]] },
];
