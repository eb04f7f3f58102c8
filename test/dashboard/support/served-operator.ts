// An operator with its dashboard, for tests: run as the ServiceAccount that it has in production, with exactly its rights.
import { randomUUID } from "node:crypto";
import { isAllowedTo } from "@keyturn/runtime";
import { type ClusterAccess, type RunningOperator, startOperator } from "@keyturn/runtime/testing";
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect } from "vitest";
import { renderCrds, renderRbac } from "../../../packages/keyturn/src/cli/manifests.ts";
import { chooseFeatures, controllersOf, features } from "../../../packages/keyturn/src/registry.ts";
import type { Dashboard } from "../../../packages/keyturn/src/dashboard/dashboard.ts";
import { operatorDashboard, type OperatorDashboardOptions } from "../../../packages/keyturn/src/dashboard/operator-dashboard.ts";
import { readFlags } from "../../../packages/keyturn/src/feature/flag.ts";
import { keyturn } from "../../../packages/keyturn/src/feature/feature.ts";

/** A running operator. */
export interface ServedOperator extends RunningOperator {
  readonly url: string;
}

/** What to run. */
interface ServedOperatorOptions extends Partial<
  Pick<OperatorDashboardOptions, "access" | "tokenFreshMs" | "streamTimes" | "rates" | "files" | "bindAddress">
> {
  /** As `--controllers`. Default `jwks,rotation,checksum`. */
  readonly controllers?: string;
  readonly flags?: Readonly<Record<string, string>>;
  /** Changes the kubeconfig of the operator's ServiceAccount, for proxies. */
  readonly through?: (kubeconfig: string) => string;
}

const namespace = "keyturn-system";

/** Installs CRDs and rights, and starts it, on a free port unless another address is given. Every further one is another replica. */
export async function serveOperator(cluster: ClusterAccess, options: ServedOperatorOptions = {}): Promise<ServedOperator> {
  const { controllers: choice = "jwks,rotation,checksum", flags = {}, through = (kubeconfig) => kubeconfig, ...rest } = options;
  const chosen = chooseFeatures(choice);
  const controllers = controllersOf(chosen, flags, {});
  const serviceAccount = { namespace, name: keyturn.name };
  await cluster.apply(renderCrds(features));
  await cluster.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: serviceAccount },
  ]);
  await cluster.apply(renderRbac({ controllers, namespaces: [], leaderElection: true, dashboard: true, serviceAccount }));
  const started = Promise.withResolvers<Dashboard>();
  const runnable = operatorDashboard(controllers, {
    bindAddress: "127.0.0.1:0",
    ...rest,
    registry: features,
    features: chosen.map(({ name }) => name),
    flag: (flag) => readFlags({ flag }, flags, {}).flag,
    cluster: "the cluster of the test",
    leaseNamespace: namespace,
    version: "0.0.0-test",
    onStarted: started.resolve,
  });
  const kubeconfig = through(await cluster.kubeconfigFor({ serviceAccount }));
  const operator = await startOperator({ operator: keyturn, kubeconfig, controllers, runnables: [runnable], leaderElection: { namespace } });
  const { url } = await started.promise;
  return { ...operator, url };
}

/** A right; in the whole cluster unless it names a namespace. */
interface ViewerRight {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly namespace?: string;
}

/** A token of a new ServiceAccount `default/<name>` with these rights. */
export async function viewerToken(cluster: ClusterAccess, name: string, rights: readonly ViewerRight[]): Promise<string> {
  const account = { namespace: "default", name };
  const apiVersion = "rbac.authorization.k8s.io/v1";
  // Somebody with no other rights, by whom it is seen that the API server acts on these: it hears of each kind of binding by itself.
  const witness = `witness-${randomUUID()}`;
  const subjects = [
    { kind: "ServiceAccount", ...account },
    { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: witness },
  ];
  await cluster.apply([
    { apiVersion: "v1", kind: "ServiceAccount", metadata: account },
    ...rights.flatMap(({ namespace: place, ...rule }, index) => {
      const kind = place === undefined ? "ClusterRole" : "Role";
      const metadata = { name: `${name}-${index}`, ...(place !== undefined && { namespace: place }) };
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind, name: metadata.name };
      return [
        { apiVersion, kind, metadata, rules: [rule] },
        { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects },
      ];
    }),
  ]);
  for (const { apiGroups, resources, verbs, namespace: place = "" } of rights) {
    const [group = "", resource = "", verb = ""] = [apiGroups[0], resources[0], verbs[0]];
    const asked = { group, resource, verb, namespace: place };
    await soon(async () => expect(await isAllowedTo(cluster.client, { username: witness }, { resourceAttributes: asked })).toBe(true));
  }
  return cluster.tokenFor(account);
}

const seen = ["list", "watch"];

/** Everything that the dashboard shows. */
export const everythingShown: readonly ViewerRight[] = [{ apiGroups: ["*"], resources: ["*"], verbs: seen }];

/** One kind, everywhere or in one namespace. */
export function seenKind(resource: string, place?: string): ViewerRight {
  const [plural = "", ...group] = resource.split(".");
  return { apiGroups: [group.join(".")], resources: [plural], verbs: seen, ...(place !== undefined && { namespace: place }) };
}
