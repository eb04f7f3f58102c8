// What operations gets to see of this feature's metrics: alerts and panels of the Grafana dashboard.
import type { Alert, Panel } from "../../feature/feature.ts";

export const rotationAlerts: readonly Alert[] = [
  {
    alert: "KeyturnRotationLate",
    expr: 'time() - (keyturn_rotation_next_due_timestamp_seconds > 0) > 600\n  unless on (instance) leader_election_master_status{name="keyturn-rotation"} == 0',
    for: "5m",
    severity: "critical",
    summary: "A rotation is late.",
    description:
      "A step of a rotation was due {{ $value | humanizeDuration }} ago and has not been made. `keyturn plan SET -n NAMESPACE` shows what is due.",
  },
  {
    alert: "KeyturnRotationStandstill",
    expr: 'keyturn_rotation_standstill == 1\n  unless on (instance) leader_election_master_status{name="keyturn-rotation"} == 0',
    for: "30m",
    severity: "warning",
    summary: "The set {{ $labels.set }} in {{ $labels.namespace }} stands still ({{ $labels.reason }}).",
    description:
      "Nothing has moved in the rotation set {{ $labels.set }} of the namespace {{ $labels.namespace }} for 30 minutes, or not as it should. The reason is {{ $labels.reason }}; the conditions of its RotationTargets say more.",
  },
];

export const rotationPanels: readonly Panel[] = [
  { title: "Steps", unit: "ops", lines: [["sum by (namespace) (rate(keyturn_rotation_steps_total[$__rate_interval]))", "{{namespace}}"]] },
  { title: "Repairs", unit: "ops", lines: [["sum by (namespace) (rate(keyturn_rotation_repairs_total[$__rate_interval]))", "{{namespace}}"]] },
  { title: "Sets that stand still", lines: [["count by (reason) (keyturn_rotation_standstill)", "{{reason}}"]] },
  { title: "Next step", type: "stat", unit: "dateTimeFromNow", lines: [["max(keyturn_rotation_next_due_timestamp_seconds > 0) * 1000", ""]] },
];
