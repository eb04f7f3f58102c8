// `keyturn run`: the operator, as it runs in a cluster.
import { join } from "node:path";
import { type Runnable, createLogger, parseBindAddress, runOperator } from "@keyturn/runtime";
import { chooseFeatures, controllersOf } from "../registry.ts";
import { operatorDashboard } from "../dashboard/operator-dashboard.ts";
import { diagnosticsRunnable, onDiagnosticsSignal } from "../diagnostics/diagnostics.ts";
import { scopeAnnotations } from "../feature/served-scope.ts";
import { type Flag, readFlags, type ValuesOf } from "../feature/flag.ts";
import { operatorFlags } from "../operator-flags.ts";
import { notifyRunnables } from "../notify/notifier.ts";
import { type Feature, type FlagReader, keyturn } from "../feature/feature.ts";
import { leaseNamespaceOf, servedScope, takePlace } from "./one-operator.ts";
import { connect, orUsageError } from "./session.ts";
import { type Console, version } from "./command-line.ts";

/** Texts of flags by name, as given on the command line. */
type Given = Readonly<Record<string, string | undefined>>;

/** The flags of `keyturn run`: the operator's own, then each feature's. */
export function runFlags(registry: readonly Feature[]): readonly Flag[] {
  return [...Object.values(operatorFlags), ...registry.flatMap((feature) => feature.flags)];
}

/** Runs until asked to stop. Rejects with a `UsageError` for a flag, kubeconfig or address that cannot be used. */
export async function runCommand(given: Given, console: Console, registry: readonly Feature[]): Promise<void> {
  const { environment, signal } = console;
  const flags = readFlags(operatorFlags, given, environment);
  const chosen = chooseFeatures(flags.controllers, registry);
  const controllers = controllersOf(chosen, given, environment);
  const connection = await connect(flags, environment);
  const log = createLogger({ level: flags.logLevel, format: flags.logFormat });
  const flagOf: FlagReader = (flag) => readFlags({ flag }, given, environment).flag;
  const leaseNamespace = leaseNamespaceOf(flags, connection);
  const scope = servedScope(chosen, flags, flagOf);
  const page = operatorDashboard(controllers, {
    bindAddress: flags.dashboardBindAddress,
    registry,
    features: chosen.map(({ name }) => name),
    flag: flagOf,
    cluster: connection.server,
    leaseNamespace,
    version,
  });
  const isServed = parseBindAddress(flags.dashboardBindAddress).type !== "off";
  log.info({ version, controllers: controllers.map(({ name }) => name), server: connection.server, source: connection.source }, "keyturn starts");
  const { leaseDuration, leaderElect, dryRun, allowOtherOperators } = flags;
  if (!dryRun) {
    const place = { leaseNamespace, leaderElect, allowOtherOperators, scope, controllers: controllers.map(({ name }) => name) };
    await takePlace(connection, { ...place, log, signal, environment });
  }
  await orUsageError(() =>
    runOperator(
      {
        operator: keyturn,
        connection,
        controllers,
        runnables: [...(isServed ? [page] : []), ...operatorRunnables(flags, environment, registry)],
        version,
        log,
        env: environment,
        namespaces: flags.namespaces,
        dryRun,
        resyncMs: flags.resyncPeriod,
        metricsBindAddress: flags.metricsBindAddress,
        ...(flags.metricsSecure && { secureMetrics: secureMetrics(flags) }),
        healthBindAddress: flags.healthProbeBindAddress,
        leaderElection: {
          enabled: leaderElect,
          namespace: leaseNamespace,
          annotations: scopeAnnotations(scope),
          // client-go's proportions: 15 s, 10 s, 2 s.
          durations: { leaseDurationMs: leaseDuration, renewDeadlineMs: (leaseDuration * 2) / 3, retryPeriodMs: (leaseDuration * 2) / 15 },
        },
      },
      signal,
    ),
  );
  log.info({}, "keyturn has stopped");
}

function secureMetrics({ metricsCertPath: folder, metricsCertName: certificate, metricsCertKey: key }: ValuesOf<typeof operatorFlags>) {
  return folder === undefined ? {} : { certificate: { certificate: join(folder, certificate), key: join(folder, key) } };
}

/** What notifies people, and what lets them look into the process. */
function operatorRunnables(flags: ValuesOf<typeof operatorFlags>, env: Console["environment"], registry: readonly Feature[]): readonly Runnable[] {
  const { notifyUrlFile: urlFile, notifyAllowHttp: allowHttp, notifyFormat: format, notifyEvents: events, notifyCluster: cluster } = flags;
  return [
    ...notifyRunnables({ urlFile, allowHttp, format, events, registry, cluster, env }),
    diagnosticsRunnable({ folder: flags.diagnosticsDir, onRequest: onDiagnosticsSignal }),
  ];
}
