// What operations gets to see of this feature's metrics: alerts and panels of the Grafana dashboard.
import type { Alert, Panel } from "../../feature/feature.ts";

export const eventingAuthAlerts: readonly Alert[] = [
  {
    alert: "KeyturnIssuingFails",
    expr: "max by (namespace, name) (keyturn_eventing_auth_ready) == 0",
    for: "30m",
    severity: "warning",
    summary: "The runtime {{ $labels.name }} has no credentials.",
    description: "The EventingAuth {{ $labels.namespace }}/{{ $labels.name }} has not been ready for 30 minutes. Its conditions say why.",
  },
  {
    alert: "KeyturnIdentityProviderFails",
    expr: 'sum(rate(keyturn_eventing_auth_identity_requests_total{code=~"401|403|5..|<error>"}[10m]))\n  / sum(rate(keyturn_eventing_auth_identity_requests_total[10m])) > 0.5',
    for: "10m",
    severity: "critical",
    summary: "The identity provider refuses or does not answer.",
    description: "For 10 minutes, {{ $value | humanizePercentage }} of the requests to the identity provider have failed. No credentials are issued.",
  },
  {
    alert: "KeyturnRuntimeUnreachable",
    expr: "max by (namespace, name) (keyturn_eventing_auth_target_reachable) == 0",
    for: "30m",
    severity: "warning",
    summary: "The cluster of the runtime {{ $labels.name }} does not answer.",
    description:
      "For 30 minutes, the cluster of {{ $labels.namespace }}/{{ $labels.name }} has not answered, so that its credentials can be neither written nor checked.",
  },
  {
    alert: "KeyturnLeftBehind",
    expr: "increase(keyturn_eventing_auth_abandoned_total[1h]) > 0",
    severity: "info",
    summary: "A deletion left something behind.",
    description:
      "In the last hour, a deletion left a Secret in a runtime's cluster that did not answer, or an application at the identity provider. The log names it.",
  },
];

export const eventingAuthPanels: readonly Panel[] = [
  {
    title: "Runtimes without credentials",
    type: "stat",
    lines: [["count(max by (namespace, name) (keyturn_eventing_auth_ready) == 0) or vector(0)", ""]],
  },
  { title: "Secrets issued", unit: "ops", lines: [["sum by (why) (rate(keyturn_eventing_auth_issued_total[$__rate_interval]))", "{{why}}"]] },
  {
    title: "Identity provider: requests",
    unit: "ops",
    lines: [["sum by (step, code) (rate(keyturn_eventing_auth_identity_requests_total[$__rate_interval]))", "{{step}} {{code}}"]],
  },
  {
    title: "Identity provider: 95th percentile",
    unit: "s",
    lines: [
      [
        "histogram_quantile(0.95, sum by (step, le) (rate(keyturn_eventing_auth_identity_request_duration_seconds_bucket[$__rate_interval])))",
        "{{step}}",
      ],
    ],
  },
  { title: "Applications that nobody claims", type: "stat", lines: [["max(keyturn_eventing_auth_orphans)", ""]] },
  {
    title: "Clusters without an answer",
    type: "stat",
    lines: [["count(max by (namespace, name) (keyturn_eventing_auth_target_reachable) == 0) or vector(0)", ""]],
  },
];
