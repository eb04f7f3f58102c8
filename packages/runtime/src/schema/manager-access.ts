// What the manager itself needs, as the same kind of list that controllers give.
import type { AccessRule } from "../controller/access.ts";
import { leaseAccess } from "../manager/lease-access.ts";

/** Needed wherever objects are reported on: their own namespaces, and `default` for cluster-scoped ones. */
export const eventAccess: readonly AccessRule[] = [
  {
    kind: { group: "events.k8s.io", plural: "events", namespaced: true },
    verbs: ["create", "patch"],
    why: "to report what happened to an object, and to count repetitions in one Event",
  },
];

/** The manager's rights by place: everywhere the controllers work, and in single namespaces. */
export interface ManagerAccess {
  readonly access: readonly AccessRule[];
  readonly accessIn: Readonly<Record<string, readonly AccessRule[]>>;
}

/** Where the manager needs which right, as `rbacObjects` takes it. */
export function managerAccess({
  operatorNamespace,
  controllerAccess,
  leaderElection = true,
}: {
  readonly operatorNamespace: string;
  /** What the controllers declared: an Event about a cluster-scoped object goes to the namespace `default`. */
  readonly controllerAccess: readonly AccessRule[];
  /** Whether Leases are used. Default true. */
  readonly leaderElection?: boolean;
}): ManagerAccess {
  const places: Record<string, readonly AccessRule[]> = {};
  const add = (namespace: string, rules: readonly AccessRule[]): void => {
    places[namespace] = [...(places[namespace] ?? []), ...rules];
  };
  if (leaderElection) add(operatorNamespace, leaseAccess);
  if (controllerAccess.some(({ kind }) => !kind.namespaced)) add("default", eventAccess);
  return { access: eventAccess, accessIn: places };
}
