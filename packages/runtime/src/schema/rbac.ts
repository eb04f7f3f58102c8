// RBAC objects from declared access: the least that lets the declared rules through.
import type { KubeObject } from "../client/kind.ts";
import type { AccessRule, Verb } from "../controller/controller.ts";
import { leaseAccess } from "../manager/lease-elector.ts";
import { scrapeAccess } from "../observe/scrape-gate.ts";

/** A rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly Verb[];
}

/** A Role or ClusterRole. */
interface RoleObject extends KubeObject {
  readonly kind: "Role" | "ClusterRole";
  readonly rules: readonly PolicyRule[];
}

/** A RoleBinding or ClusterRoleBinding. */
interface RoleBindingObject extends KubeObject {
  readonly kind: "RoleBinding" | "ClusterRoleBinding";
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: "ServiceAccount"; readonly namespace: string; readonly name: string }[];
}

/** Who gets which rights, and where. */
interface RbacOptions {
  /** The name of every object made. */
  readonly name: string;
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
  /** What controllers declared. */
  readonly access: readonly AccessRule[];
  /** Namespaces the operator is limited to; empty (default) for all. Cluster-scoped kinds need a ClusterRole either way. */
  readonly namespaces?: readonly string[];
  /** Rights in one namespace only, whatever `namespaces` says, such as Leases in the operator's own. */
  readonly accessIn?: Readonly<Record<string, readonly AccessRule[]>>;
  readonly labels?: Readonly<Record<string, string>>;
}

const verbOrder: readonly Verb[] = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
/** Verbs that the API server never or not reliably checks against a name. */
const namelessVerbs: ReadonlySet<Verb> = new Set(["list", "watch", "create", "deletecollection"]);

/** `plural` or `plural/subresource`. */
function resourceOfRule({ kind, subresource }: AccessRule): string {
  return subresource ? `${kind.plural}/${subresource}` : kind.plural;
}

/** Merged and sorted rules: every declared right once, none beside them. Throws for rules that RBAC cannot express. */
export function policyRules(access: readonly AccessRule[]): readonly PolicyRule[] {
  const verbsOf = new Map<string, Set<Verb>>();
  const idOf = (group: string, resource: string, names: readonly string[]): string => JSON.stringify([group, resource, [...names].sort()]);
  for (const rule of access) {
    const nameless = rule.resourceNames && rule.verbs.filter((verb) => namelessVerbs.has(verb));
    if (nameless?.length) throw new Error(`cannot limit ${nameless.join(", ")} of ${resourceOfRule(rule)} to names: RBAC does not check names there`);
    if (rule.resourceNames?.length === 0)
      throw new Error(`the rule for ${resourceOfRule(rule)} names no object; leave resourceNames out to mean all`);
    const id = idOf(rule.kind.group, resourceOfRule(rule), rule.resourceNames ?? []);
    verbsOf.set(id, new Set([...(verbsOf.get(id) ?? []), ...rule.verbs]));
  }
  const merged = new Map<string, MergedRule>();
  for (const [id, verbs] of verbsOf) {
    const [group, resource, names] = JSON.parse(id) as [string, string, string[]];
    const granted = names.length > 0 ? verbsOf.get(idOf(group, resource, [])) : undefined;
    const needed = verbOrder.filter((verb) => verbs.has(verb) && !granted?.has(verb));
    if (needed.length === 0) continue;
    const key = JSON.stringify([group, needed, names]);
    const rule = merged.get(key) ?? { group, verbs: needed, names, resources: [] };
    rule.resources.push(resource);
    merged.set(key, rule);
  }
  return [...merged.values()].map(policyRule).sort((a, b) => compare(sortKey(a), sortKey(b)));
}

interface MergedRule {
  readonly group: string;
  readonly verbs: readonly Verb[];
  readonly names: readonly string[];
  readonly resources: string[];
}

function policyRule({ group, verbs, names, resources }: MergedRule): PolicyRule {
  return { apiGroups: [group], resources: resources.sort(), ...(names.length > 0 && { resourceNames: names }), verbs };
}

function sortKey({ apiGroups, resources, resourceNames = [], verbs }: PolicyRule): string {
  return [...apiGroups, ...resources, ...resourceNames, ...verbs].join("\0");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The Roles, ClusterRole and bindings that give the ServiceAccount its rights; sorted, and none without rules. */
export function rbacObjects(options: RbacOptions): readonly (RoleObject | RoleBindingObject)[] {
  const { namespaces = [] } = options;
  const limited = namespaces.length > 0;
  const access = options.access.filter(({ namespace, inOwnNamespace }) => namespace === undefined && !inOwnNamespace);
  const accessIn = byNamespace(options);
  const clusterWide = access.filter(({ kind }) => !limited || !kind.namespaced);
  const namespaced = limited ? access.filter(({ kind }) => kind.namespaced) : [];
  const places = [...new Set([...namespaces, ...Object.keys(accessIn)])].sort();
  return [
    ...boundRole(options, undefined, clusterWide),
    ...places.flatMap((namespace) => {
      const rules = [...(namespaces.includes(namespace) ? namespaced : []), ...(accessIn[namespace] ?? [])];
      return boundRole(options, namespace, withoutGranted(rules, limited ? [] : clusterWide));
    }),
  ];
}

/** The rights that hold in single namespaces: given as such, and declared as such. */
function byNamespace({ access, accessIn = {}, serviceAccount }: RbacOptions): Readonly<Record<string, readonly AccessRule[]>> {
  const places = { ...accessIn };
  for (const rule of access) {
    const place = rule.inOwnNamespace ? serviceAccount.namespace : rule.namespace;
    if (place !== undefined) places[place] = [...(places[place] ?? []), rule];
  }
  return places;
}

/** Drops what is granted in the whole cluster anyway. */
function withoutGranted(rules: readonly AccessRule[], granted: readonly AccessRule[]): readonly AccessRule[] {
  const grants = (rule: AccessRule, verb: Verb): boolean =>
    granted.some(
      (other) =>
        !other.resourceNames && other.kind.group === rule.kind.group && resourceOfRule(other) === resourceOfRule(rule) && other.verbs.includes(verb),
    );
  return rules.flatMap((rule) => {
    const verbs = rule.verbs.filter((verb) => !grants(rule, verb));
    return verbs.length > 0 ? [{ ...rule, verbs }] : [];
  });
}

function boundRole(
  { name, serviceAccount, labels }: RbacOptions,
  namespace: string | undefined,
  access: readonly AccessRule[],
): readonly (RoleObject | RoleBindingObject)[] {
  const rules = policyRules(access);
  if (rules.length === 0) return [];
  const apiGroup = "rbac.authorization.k8s.io";
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  const metadata = { name, ...(namespace !== undefined && { namespace }), ...(labels && { labels }) };
  return [
    { apiVersion: `${apiGroup}/v1`, kind, metadata, rules },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup, kind, name },
      subjects: [{ kind: "ServiceAccount", namespace: serviceAccount.namespace, name: serviceAccount.name }],
    },
  ];
}

// What the manager itself needs, as the same kind of list that controllers give.

/** Needed wherever objects are reported on: their own namespaces, and `default` for cluster-scoped ones. */
export const eventAccess: readonly AccessRule[] = [
  {
    kind: { group: "events.k8s.io", plural: "events", namespaced: true },
    verbs: ["create", "patch"],
    why: "to report what happened to an object, and to count repetitions in one Event",
  },
];

/** The manager's rights by place: everywhere the controllers work, and in single namespaces. */
interface ManagerAccess {
  readonly access: readonly AccessRule[];
  readonly accessIn: Readonly<Record<string, readonly AccessRule[]>>;
}

/** Where the manager needs which right, as `rbacObjects` takes it. */
export function managerAccess({
  operatorNamespace,
  controllerAccess,
  leaderElection = true,
  leases,
  secureMetrics = false,
}: {
  readonly operatorNamespace: string;
  /** What the controllers declared: an Event about a cluster-scoped object goes to the namespace `default`. */
  readonly controllerAccess: readonly AccessRule[];
  /** Whether Leases are used. Default true. */
  readonly leaderElection?: boolean;
  /** Their names, so that nobody can take those of other processes. Default: any. */
  readonly leases?: readonly string[];
  /** Whether it asks who reads its metrics. Default false. */
  readonly secureMetrics?: boolean;
}): ManagerAccess {
  const places: Record<string, readonly AccessRule[]> = {};
  const add = (namespace: string, rules: readonly AccessRule[]): void => {
    places[namespace] = [...(places[namespace] ?? []), ...rules];
  };
  if (leaderElection) add(operatorNamespace, leaseAccess(leases));
  if (controllerAccess.some(({ kind }) => !kind.namespaced)) add("default", eventAccess);
  return { access: [...eventAccess, ...(secureMetrics ? scrapeAccess : [])], accessIn: places };
}
