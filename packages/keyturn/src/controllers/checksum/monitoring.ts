// What operations gets to see of this feature's metrics, and its agents': alerts and panels of the Grafana dashboard.
import type { Alert, Panel } from "../../feature/feature.ts";

export const checksumAlerts: readonly Alert[] = [
  {
    alert: "KeyturnChecksumLeftOut",
    expr: 'sum by (kind, namespace, reason) (keyturn_checksum_problem_objects\n  unless on (instance) leader_election_master_status{name=~"keyturn-checksum(-ingress)?"} == 0) > 0',
    for: "1h",
    severity: "warning",
    summary: "{{ $value }} objects of {{ $labels.namespace }} are a problem for its {{ $labels.kind }} ({{ $labels.reason }}).",
    description:
      "Objects that are left out of the checksum are not verified, and never get to a gateway. `keyturn diff -n {{ $labels.namespace }}` names them.",
  },
  {
    alert: "KeyturnChecksumHeld",
    expr: 'max by (kind, namespace) (keyturn_checksum_held\n  unless on (instance) leader_election_master_status{name=~"keyturn-checksum(-ingress)?"} == 0) == 1',
    for: "1m",
    severity: "critical",
    summary: "What is in {{ $labels.namespace }} is not published as its {{ $labels.kind }}.",
    description:
      "Much went or changed at once, or changed without the signed announcement that is asked for. Gateways keep what they have. The condition `Current` of the newest {{ $labels.kind }} says what it is; `keyturn checksum allow -n {{ $labels.namespace }}` lets it through.",
  },
  {
    alert: "KeyturnAnnouncementLasts",
    expr: 'max by (kind, namespace) (keyturn_checksum_awaited\n  unless on (instance) leader_election_master_status{name=~"keyturn-checksum(-ingress)?"} == 0) == 1',
    for: "30m",
    severity: "warning",
    summary: "An announced state of {{ $labels.namespace }} has not come.",
    description:
      "For 30 minutes, {{ $labels.kind }} of {{ $labels.namespace }} has been waiting for a batch that was announced. Until it is there, nothing else is published.",
  },
];

export const checksumPanels: readonly Panel[] = [
  { title: "Objects in checksums", lines: [["max by (kind, namespace) (keyturn_checksum_objects)", "{{kind}} {{namespace}}"]] },
  {
    title: "Objects with a problem",
    lines: [["max by (kind, namespace, reason) (keyturn_checksum_problem_objects)", "{{kind}} {{namespace}} {{reason}}"]],
  },
  { title: "Checksums published", unit: "ops", lines: [["sum by (kind) (rate(keyturn_checksum_published_total[$__rate_interval]))", "{{kind}}"]] },
  { title: "Agents: unverified for", unit: "s", lines: [["keyturn_agent_staleness_seconds", "{{namespace}} {{instance}}"]] },
  { title: "Agents: alarms", lines: [["keyturn_agent_alarm == 1", "{{namespace}} {{alarm}} {{instance}}"]] },
  { title: "Agents: differences", lines: [["sum by (namespace, direction) (keyturn_agent_differences)", "{{namespace}} {{direction}}"]] },
];
