// What operations gets to see of this feature's metrics: alerts and panels of the Grafana dashboard.
import type { Alert, Panel } from "../../feature/feature.ts";

export const jwksAlerts: readonly Alert[] = [
  {
    alert: "KeyturnCertificateExpiresSoon",
    expr: "max by (kind, namespace, name) (keyturn_jwks_certificate_expiry_timestamp_seconds) - time() < 7 * 86400 > 86400",
    for: "1h",
    severity: "warning",
    summary: "A certificate of {{ $labels.kind }} {{ $labels.namespace }}/{{ $labels.name }} expires soon.",
    description:
      "The first certificate among the published keys of {{ $labels.kind }} {{ $labels.namespace }}/{{ $labels.name }} expires in {{ $value | humanizeDuration }}.",
  },
  {
    alert: "KeyturnCertificateExpires",
    expr: "max by (kind, namespace, name) (keyturn_jwks_certificate_expiry_timestamp_seconds) - time() <= 86400",
    for: "15m",
    severity: "critical",
    summary: "A certificate of {{ $labels.kind }} {{ $labels.namespace }}/{{ $labels.name }} expires within a day, or has expired.",
    description:
      "The first certificate among the published keys of {{ $labels.kind }} {{ $labels.namespace }}/{{ $labels.name }} has {{ $value | humanizeDuration }} left.",
  },
  {
    alert: "KeyturnNoActiveKey",
    expr: 'max by (kind, namespace, name) (keyturn_jwks_keys{state="Active"}) == 0',
    for: "15m",
    severity: "critical",
    summary: "{{ $labels.kind }} {{ $labels.namespace }}/{{ $labels.name }} publishes no active key.",
    description:
      "For 15 minutes, {{ $labels.kind }} {{ $labels.namespace }}/{{ $labels.name }} has published no active key. Tokens that are signed now cannot be verified.",
  },
];

export const jwksPanels: readonly Panel[] = [
  { title: "Published keys", lines: [["sum by (state) (keyturn_jwks_keys)", "{{state}}"]] },
  {
    title: "Certificates that expire first",
    type: "table",
    unit: "dateTimeFromNow",
    lines: [["bottomk(10, max by (kind, namespace, name) (keyturn_jwks_certificate_expiry_timestamp_seconds)) * 1000", ""]],
  },
];
