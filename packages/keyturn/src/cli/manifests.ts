// `keyturn crds` and `keyturn rbac`: what an installation needs, as manifests.
import { type ControllerDefinition, crdOf, managerAccess, parseBindAddress, rbacObjects, yamlDocuments } from "@keyturn/runtime";
import { agentAccess, agentScopeAccess } from "../agent/run-agent.ts";
import { type ScopeChoice, scopeChoiceIn } from "../controllers/checksum/scopes.ts";
import { dashboardAccess } from "../dashboard/viewer-rights.ts";
import { type Feature, keyturn } from "../feature/feature.ts";
import { type Flag, readFlags, switchFlag, textFlagWithDefault } from "../feature/flag.ts";
import { operatorFlags, usualNamespace } from "../operator-flags.ts";
import { chooseFeatures, controllersOf } from "../registry.ts";
import type { Console } from "./command-line.ts";

// `keyturn crds`: the CustomResourceDefinitions of every kind that the features serve.

/** The CRDs as YAML documents. */
export function renderCrds(chosen: readonly Feature[]): string {
  return yamlDocuments(chosen.flatMap((feature) => feature.kinds.map((kind) => crdOf(kind))));
}

/** Prints them. */
export function crdsCommand(console: Console, registry: readonly Feature[]): void {
  console.out(renderCrds(registry));
}

// `keyturn rbac`: the rights that the chosen controllers need, as manifests. Nothing more is ever asked for.

const flags = {
  controllers: operatorFlags.controllers,
  namespaces: operatorFlags.namespaces,
  leaderElect: operatorFlags.leaderElect,
  metricsBindAddress: operatorFlags.metricsBindAddress,
  metricsSecure: operatorFlags.metricsSecure,
  dashboardBindAddress: operatorFlags.dashboardBindAddress,
  namespace: textFlagWithDefault({
    name: "namespace",
    placeholder: "NAMESPACE",
    default: usualNamespace,
    help: "where the operator itself, or the agent, runs",
  }),
  agent: switchFlag({
    name: "agent",
    default: false,
    help: "the rights of an agent that serves the certificates of --namespace, or of the --checksum.scope that is published there, instead of those of the operator",
  }),
  serviceAccount: textFlagWithDefault({ name: "service-account", placeholder: "NAME", default: "keyturn", help: "who gets the rights" }),
};

/** The flags of `keyturn rbac`: its own, and those of the controllers, since some of them change what a controller needs. */
export function rbacFlags(registry: readonly Feature[]): readonly Flag[] {
  return [...Object.values(flags), ...registry.flatMap((feature) => feature.flags)];
}

const labels = { "app.kubernetes.io/name": keyturn.name };

/** The Lease that a controller's leader holds. */
export function leaseNameOf({ name }: Pick<ControllerDefinition, "name">): string {
  return `${keyturn.name}-${name}`;
}

/** The Roles, ClusterRoles and bindings as YAML documents. */
export function renderRbac(options: {
  readonly controllers: readonly ControllerDefinition[];
  readonly namespaces: readonly string[];
  readonly leaderElection: boolean;
  /** Whether the operator serves the dashboard to those who have a token. Default false. */
  readonly dashboard?: boolean;
  /** Whether it asks who reads its metrics. Default false. */
  readonly secureMetrics?: boolean;
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
}): string {
  const declared = [
    ...options.controllers.flatMap(({ access }) => access),
    ...(options.dashboard ? dashboardAccess({ isLimited: options.namespaces.length > 0 }) : []),
  ];
  const manager = managerAccess({
    operatorNamespace: options.serviceAccount.namespace,
    controllerAccess: declared,
    leaderElection: options.leaderElection,
    leases: options.controllers.map(leaseNameOf),
    ...(options.secureMetrics && { secureMetrics: true }),
  });
  return yamlDocuments(
    rbacObjects({
      name: keyturn.name,
      serviceAccount: options.serviceAccount,
      access: [...declared, ...manager.access],
      accessIn: manager.accessIn,
      namespaces: options.namespaces,
      labels,
    }),
  );
}

/** The Roles and bindings of an agent: in the namespace whose certificates it serves and, with a wider scope, where the others are. */
function renderAgentRbac(serviceAccount: { readonly namespace: string; readonly name: string }, scopeChoice: ScopeChoice): string {
  const accessIn = { [serviceAccount.namespace]: agentAccess };
  const access = agentScopeAccess(scopeChoice);
  return yamlDocuments(rbacObjects({ name: `${keyturn.name}-agent`, serviceAccount, access, accessIn, namespaces: [], labels }));
}

/** Prints them. */
export function rbacCommand(given: Readonly<Record<string, string | undefined>>, console: Console, registry: readonly Feature[]): void {
  const values = readFlags(flags, given, console.environment);
  const { controllers, namespaces, leaderElect, namespace, serviceAccount, agent } = values;
  if (agent) {
    const scopeChoice = scopeChoiceIn(namespace, (flag) => readFlags({ flag }, given, console.environment).flag);
    return console.out(renderAgentRbac({ namespace, name: serviceAccount }, scopeChoice));
  }
  console.out(
    renderRbac({
      controllers: controllersOf(chooseFeatures(controllers, registry), given, console.environment),
      namespaces,
      leaderElection: leaderElect,
      dashboard: parseBindAddress(values.dashboardBindAddress).type === "listen",
      secureMetrics: values.metricsSecure && parseBindAddress(values.metricsBindAddress).type === "listen",
      serviceAccount: { namespace, name: serviceAccount },
    }),
  );
}
