// `keyturn rbac`: the rights that the chosen controllers need, as manifests. Nothing more is ever asked for.
import { type ControllerDefinition, managerAccess, rbacObjects, yamlDocuments } from "@keyturn/runtime";
import { chooseFeatures, controllersOf, features } from "../controllers/registry.ts";
import { type Flag, readFlags, textFlagWithDefault } from "../flags/flag.ts";
import { operatorFlags } from "../flags/operator-flags.ts";
import { keyturn } from "../operator-identity.ts";
import type { Console } from "./console.ts";

const flags = {
  controllers: operatorFlags.controllers,
  namespaces: operatorFlags.namespaces,
  leaderElect: operatorFlags.leaderElect,
  namespace: textFlagWithDefault({ name: "namespace", placeholder: "NAMESPACE", default: "keyturn-system", help: "where the operator itself runs" }),
  serviceAccount: textFlagWithDefault({ name: "service-account", placeholder: "NAME", default: "keyturn", help: "who gets the rights" }),
};

/** The flags of `keyturn rbac`: its own, and those of the controllers, since some of them change what a controller needs. */
export const rbacFlags: readonly Flag[] = [...Object.values(flags), ...features.flatMap((feature) => feature.flags)];

/** The Roles, ClusterRoles and bindings as YAML documents. */
export function renderRbac(options: {
  readonly controllers: readonly ControllerDefinition[];
  readonly namespaces: readonly string[];
  readonly leaderElection: boolean;
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
}): string {
  const declared = options.controllers.flatMap(({ access }) => access);
  const manager = managerAccess({
    operatorNamespace: options.serviceAccount.namespace,
    controllerAccess: declared,
    leaderElection: options.leaderElection ? "single" : "off",
  });
  return yamlDocuments(
    rbacObjects({
      name: keyturn.name,
      serviceAccount: options.serviceAccount,
      access: [...declared, ...manager.access],
      accessIn: manager.accessIn,
      namespaces: options.namespaces,
      labels: { "app.kubernetes.io/name": keyturn.name },
    }),
  );
}

/** Prints them. */
export function rbacCommand(given: Readonly<Record<string, string | undefined>>, console: Console): void {
  const { controllers, namespaces, leaderElect, namespace, serviceAccount } = readFlags(flags, given, console.environment);
  console.out(
    renderRbac({
      controllers: controllersOf(chooseFeatures(controllers), given, console.environment),
      namespaces,
      leaderElection: leaderElect,
      serviceAccount: { namespace, name: serviceAccount },
    }),
  );
}
