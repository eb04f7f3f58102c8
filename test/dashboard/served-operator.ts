// An operator with its dashboard, for tests: run as the ServiceAccount that it has in production, with exactly its rights.
import { createLogger, loadConfig, type RuntimeMetrics, runOperator } from "@keyturn/runtime";
import type { ClusterAccess } from "@keyturn/runtime/testing";
import { renderCrds } from "../../packages/keyturn/src/cli/crds.ts";
import { renderRbac } from "../../packages/keyturn/src/cli/rbac.ts";
import { chooseFeatures, controllersOf } from "../../packages/keyturn/src/controllers/registry.ts";
import type { Dashboard } from "../../packages/keyturn/src/dashboard/dashboard.ts";
import { operatorDashboard, type OperatorDashboardOptions } from "../../packages/keyturn/src/dashboard/operator-dashboard.ts";
import { readFlags } from "../../packages/keyturn/src/flags/flag.ts";
import { keyturn } from "../../packages/keyturn/src/operator-identity.ts";

/** A running operator. */
export interface ServedOperator extends AsyncDisposable {
  readonly url: string;
  readonly dashboard: Dashboard;
  /** What it has logged, as it was written. */
  readonly logged: readonly string[];
  readonly metrics: RuntimeMetrics;
}

/** What to run. */
export interface ServedOperatorOptions extends Partial<Pick<OperatorDashboardOptions, "access" | "tokenFreshMs" | "streamTimes" | "rates">> {
  /** As `--controllers`. Default `jwks,rotation,checksum`. */
  readonly controllers?: string;
  readonly flags?: Readonly<Record<string, string>>;
  /** Default: that of the ServiceAccount. */
  readonly kubeconfig?: string;
}

const namespace = "keyturn-system";

/** Installs CRDs and rights, and starts it on a free port. Every further one is another replica. */
export async function serveOperator(cluster: ClusterAccess, options: ServedOperatorOptions = {}): Promise<ServedOperator> {
  const { controllers: choice = "jwks,rotation,checksum", flags = {}, ...rest } = options;
  const features = chooseFeatures(choice);
  const plain = controllersOf(features, flags, {});
  const serviceAccount = { namespace, name: keyturn.name };
  await cluster.apply(renderCrds());
  await cluster.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: serviceAccount },
  ]);
  await cluster.apply(renderRbac({ controllers: plain, namespaces: [], leaderElection: true, dashboard: true, serviceAccount }));
  const kubeconfig = options.kubeconfig ?? (await cluster.kubeconfigFor({ serviceAccount }));
  const logged: string[] = [];
  const started = Promise.withResolvers<{ readonly dashboard: Dashboard; readonly metrics: RuntimeMetrics }>();
  const { controllers, companion } = operatorDashboard(plain, {
    ...rest,
    bindAddress: "127.0.0.1:0",
    features: features.map(({ name }) => name),
    flag: (flag) => readFlags({ flag }, flags, {}).flag,
    cluster: "the test's cluster",
    version: "0.0.0-test",
  });
  const stop = new AbortController();
  const running = runOperator(
    {
      operator: keyturn,
      connection: await loadConfig({ kubeconfig, env: {} }),
      controllers,
      companions: [
        {
          async start(host) {
            const dashboard = await companion.start(host);
            // What the companion of a dashboard starts is a dashboard.
            started.resolve({ dashboard: dashboard as Dashboard, metrics: host.metrics });
            return dashboard;
          },
        },
      ],
      log: createLogger({ level: "debug", destination: { write: (line) => logged.push(line) } }),
      env: {},
      leaderElection: { namespace },
    },
    stop.signal,
  );
  running.catch(started.reject);
  const { dashboard, metrics } = await started.promise;
  return {
    url: dashboard.url,
    dashboard,
    logged,
    metrics,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

/** A token of a new ServiceAccount with these rights, and how it is called. */
export async function viewerToken(
  cluster: ClusterAccess,
  name: string,
  rules: readonly { readonly apiGroups: readonly string[]; readonly resources: readonly string[]; readonly verbs: readonly string[]; readonly namespace?: string }[],
): Promise<string> {
  const account = { namespace: "default", name };
  const subject = { kind: "ServiceAccount", ...account };
  await cluster.apply([
    { apiVersion: "v1", kind: "ServiceAccount", metadata: account },
    ...rules.flatMap(({ namespace: place, ...rule }, index) => {
      const role = `${name}-${index}`;
      const kind = place === undefined ? "ClusterRole" : "Role";
      const metadata = { name: role, ...(place !== undefined && { namespace: place }) };
      const apiVersion = "rbac.authorization.k8s.io/v1";
      return [
        { apiVersion, kind, metadata, rules: [rule] },
        { apiVersion, kind: `${kind}Binding`, metadata, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: role }, subjects: [subject] },
      ];
    }),
  ]);
  return cluster.tokenFor(account);
}

/** Everything that the dashboard shows. */
export const everythingShown = [{ apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch"] }];
