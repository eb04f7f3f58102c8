// The flags of `keyturn run` that are not a controller's own.
import { choiceFlag, durationFlag, listFlag, switchFlag, textFlag, textFlagWithDefault } from "./flag.ts";

export const operatorFlags = {
  controllers: textFlagWithDefault({
    name: "controllers",
    placeholder: "A,B,…|all",
    default: "all",
    help: "which controllers to run",
  }),
  kubeconfig: textFlag({
    name: "kubeconfig",
    placeholder: "FILE",
    help: "the kubeconfig to use; otherwise $KUBECONFIG, the pod's ServiceAccount, ~/.kube/config",
  }),
  context: textFlag({ name: "context", placeholder: "NAME", help: "the context of the kubeconfig to use; otherwise its current one" }),
  namespaces: listFlag({ name: "namespaces", help: "limit the operator to these namespaces; otherwise all" }),
  leaderElect: switchFlag({ name: "leader-elect", default: true, help: "hold a Lease per controller, so that several replicas can run" }),
  leaderElectNamespace: textFlag({
    name: "leader-elect-namespace",
    placeholder: "NAMESPACE",
    help: "where the Leases are; otherwise the pod's own namespace, or default",
  }),
  leaseDuration: durationFlag({
    name: "leader-elect-lease-duration",
    default: "15s",
    help: "how long a silent holder keeps a Lease; renewed after two thirds at the latest",
  }),
  dryRun: switchFlag({
    name: "dry-run",
    default: false,
    help: "send every write as a server-side dry run: it is checked and logged, and changes nothing",
  }),
  metricsBindAddress: textFlagWithDefault({
    name: "metrics-bind-address",
    placeholder: "ADDRESS",
    default: ":8080",
    help: "where /metrics is served; 0 = off",
  }),
  healthProbeBindAddress: textFlagWithDefault({
    name: "health-probe-bind-address",
    placeholder: "ADDRESS",
    default: ":8081",
    help: "where /healthz and /readyz are served; 0 = off",
  }),
  logLevel: choiceFlag({ name: "log-level", choices: ["debug", "info", "warn", "error"], default: "info", help: "the least important lines to log" }),
  logFormat: choiceFlag({ name: "log-format", choices: ["json", "text"], default: "json", help: "one JSON object a line, or text for people" }),
} as const;
