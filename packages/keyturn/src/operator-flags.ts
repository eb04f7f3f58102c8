// The flags of `keyturn run` that are not a controller's own.
import { diagnosticsFlags } from "./diagnostics/diagnostics.ts";
import { notifyFlags } from "./notify/webhook.ts";
import { selectionFlags } from "./feature/pause-and-selection.ts";
import { addressFlag, choiceFlag, durationFlag, type Flag, listFlag, switchFlag, textFlag, textFlagWithDefault } from "./feature/flag.ts";

const leaseDuration = durationFlag({
  name: "leader-elect-lease-duration",
  group: "Leader election",
  default: "15s",
  help: "how long a silent holder keeps a Lease, in whole seconds from 3s to 24h; the holder itself gives up after two thirds of it",
});

/** A Lease counts its seconds in 32 bits, and one that a dead holder keeps for longer than a day helps nobody. */
const maxLeaseMs = 24 * 3_600_000;

const leaseDurationFlag: Flag<number> = {
  ...leaseDuration,
  parse(text) {
    const durationMs = leaseDuration.parse(text);
    if (durationMs < 3000 || durationMs > maxLeaseMs || durationMs % 1000 !== 0)
      throw new Error(`"${text}" is not a whole number of seconds from 3s to 24h`);
    return durationMs;
  },
};

const resyncPeriod = durationFlag({
  name: "resync-period",
  default: "10h",
  help: "every object is looked at again this often, at least 1m, spread over a tenth of it; nothing is written where nothing has changed",
});

const resyncPeriodFlag: Flag<number> = {
  ...resyncPeriod,
  parse(text) {
    const periodMs = resyncPeriod.parse(text);
    if (periodMs < 60_000) throw new Error(`"${text}" is less than 1m`);
    return periodMs;
  },
};

/** Where the operator is installed unless somebody says otherwise. */
export const usualNamespace = "keyturn-system";

export const operatorFlags = {
  controllers: textFlagWithDefault({
    name: "controllers",
    placeholder: "A,B,…|all",
    default: "all",
    help: "which controllers to run",
  }),
  kubeconfig: textFlag({
    name: "kubeconfig",
    group: "Connection",
    placeholder: "FILE",
    help: "the kubeconfig to use; otherwise $KUBECONFIG, the pod's ServiceAccount, ~/.kube/config",
  }),
  context: textFlag({
    name: "context",
    group: "Connection",
    placeholder: "NAME",
    help: "the context of the kubeconfig to use; otherwise its current one",
  }),
  namespaces: listFlag({ name: "namespaces", help: "limit the operator to these namespaces; otherwise all" }),
  ...selectionFlags,
  leaderElect: switchFlag({
    name: "leader-elect",
    group: "Leader election",
    default: true,
    help: "hold a Lease per controller, so that several replicas can run",
  }),
  leaderElectNamespace: textFlag({
    name: "leader-elect-namespace",
    group: "Leader election",
    placeholder: "NAMESPACE",
    help: "where the Leases are; otherwise the pod's own namespace, and outside of a pod keyturn-system",
  }),
  allowOtherOperators: switchFlag({
    name: "allow-other-operators",
    group: "Leader election",
    default: false,
    help: "start also beside an operator with its Leases in another namespace that serves the same objects: both will replace each other's work",
  }),
  leaseDuration: leaseDurationFlag,
  resyncPeriod: resyncPeriodFlag,
  dryRun: switchFlag({
    name: "dry-run",
    default: false,
    help: "send every write as a server-side dry run: it is checked and logged, and changes nothing",
  }),
  metricsBindAddress: addressFlag({ name: "metrics-bind-address", group: "Serving", default: ":8443", help: "where /metrics is served; 0 = off" }),
  metricsSecure: switchFlag({
    name: "metrics-secure",
    group: "Serving",
    default: true,
    help: "serve /metrics by HTTPS, to bearer tokens whose owner may get the path /metrics; false: by HTTP, to everybody",
  }),
  metricsCertPath: textFlag({
    name: "metrics-cert-path",
    group: "Serving",
    placeholder: "FOLDER",
    help: "the folder with the certificate for /metrics, followed when it is renewed; otherwise the process signs its own",
  }),
  metricsCertName: textFlagWithDefault({
    name: "metrics-cert-name",
    group: "Serving",
    placeholder: "FILE",
    default: "tls.crt",
    help: "the certificate's file in --metrics-cert-path",
  }),
  metricsCertKey: textFlagWithDefault({
    name: "metrics-cert-key",
    group: "Serving",
    placeholder: "FILE",
    default: "tls.key",
    help: "the key's file in --metrics-cert-path",
  }),
  healthProbeBindAddress: addressFlag({
    name: "health-probe-bind-address",
    group: "Serving",
    default: ":8081",
    help: "where /healthz and /readyz are served; 0 = off",
  }),
  dashboardBindAddress: addressFlag({
    name: "dashboard-bind-address",
    group: "Serving",
    default: "0",
    help: "where the dashboard is served, such as :8082; who looks needs a bearer token of the cluster, and sees what it may list and watch; 0 = off",
  }),
  logLevel: choiceFlag({
    name: "log-level",
    group: "Logging",
    choices: ["debug", "info", "warn", "error"],
    default: "info",
    help: "the minimum log level",
  }),
  logFormat: choiceFlag({
    name: "log-format",
    group: "Logging",
    choices: ["json", "text"],
    default: "json",
    help: "one JSON object a line, or text for people",
  }),
  ...notifyFlags,
  ...diagnosticsFlags,
} as const;
