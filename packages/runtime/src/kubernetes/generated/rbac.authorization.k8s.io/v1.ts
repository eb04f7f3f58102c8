// rbac.authorization.k8s.io/v1 as Kubernetes publishes it. Written by `node tools/kubernetes-types.ts`: do not edit.
import { defineKind, type KubeObject } from "../../../client/kind.ts";
import type * as metaV1 from "../meta/v1.ts";

/** AggregationRule describes how to locate ClusterRoles to aggregate into the ClusterRole */
export interface AggregationRule {
  /** ClusterRoleSelectors holds a list of selectors which will be used to find ClusterRoles and create the rules. If any of the selectors match, then the ClusterRole's permissions will be added */
  readonly clusterRoleSelectors?: readonly metaV1.LabelSelector[];
}

/** ClusterRole is a cluster level, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding or ClusterRoleBinding. */
export interface ClusterRole extends KubeObject {
  /** AggregationRule is an optional field that describes how to build the Rules for this ClusterRole. If AggregationRule is set, then the Rules are controller managed and direct changes to Rules will be stomped by the controller. */
  readonly aggregationRule?: AggregationRule;
  /** Rules holds all the PolicyRules for this ClusterRole */
  readonly rules?: readonly PolicyRule[];
}
/** Names clusterroles of rbac.authorization.k8s.io/v1. */
export const ClusterRole = /* @__PURE__ */ defineKind<ClusterRole>({ group: "rbac.authorization.k8s.io", version: "v1", kind: "ClusterRole", plural: "clusterroles", namespaced: false });

/** ClusterRoleBinding references a ClusterRole, but not contain it.  It can reference a ClusterRole in the global namespace, and adds who information via Subject. */
export interface ClusterRoleBinding extends KubeObject {
  /** RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error. This field is immutable. */
  readonly roleRef: RoleRef;
  /** Subjects holds references to the objects the role applies to. */
  readonly subjects?: readonly Subject[];
}
/** Names clusterrolebindings of rbac.authorization.k8s.io/v1. */
export const ClusterRoleBinding = /* @__PURE__ */ defineKind<ClusterRoleBinding>({ group: "rbac.authorization.k8s.io", version: "v1", kind: "ClusterRoleBinding", plural: "clusterrolebindings", namespaced: false });

/** PolicyRule holds information that describes a policy rule, but does not contain information about who the rule applies to or which namespace the rule applies to. */
export interface PolicyRule {
  /** APIGroups is the name of the APIGroup that contains the resources.  If multiple API groups are specified, any action requested against one of the enumerated resources in any API group will be allowed. "" represents the core API group and "*" represents all API groups. */
  readonly apiGroups?: readonly string[];
  /** NonResourceURLs is a set of partial urls that a user should have access to.  *s are allowed, but only as the full, final step in the path Since non-resource URLs are not namespaced, this field is only applicable for ClusterRoles referenced from a ClusterRoleBinding. Rules can either apply to API resources (such as "pods" or "secrets") or non-resource URL paths (such as "/api"),  but not both. */
  readonly nonResourceURLs?: readonly string[];
  /** ResourceNames is an optional white list of names that the rule applies to.  An empty set means that everything is allowed. */
  readonly resourceNames?: readonly string[];
  /** Resources is a list of resources this rule applies to. '*' represents all resources. */
  readonly resources?: readonly string[];
  /** Verbs is a list of Verbs that apply to ALL the ResourceKinds contained in this rule. '*' represents all verbs. */
  readonly verbs: readonly string[];
}

/** Role is a namespaced, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding. */
export interface Role extends KubeObject {
  /** Rules holds all the PolicyRules for this Role */
  readonly rules?: readonly PolicyRule[];
}
/** Names roles of rbac.authorization.k8s.io/v1. */
export const Role = /* @__PURE__ */ defineKind<Role>({ group: "rbac.authorization.k8s.io", version: "v1", kind: "Role", plural: "roles", namespaced: true });

/** RoleBinding references a role, but does not contain it.  It can reference a Role in the same namespace or a ClusterRole in the global namespace. It adds who information via Subjects and namespace information by which namespace it exists in.  RoleBindings in a given namespace only have effect in that namespace. */
export interface RoleBinding extends KubeObject {
  /** RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error. This field is immutable. */
  readonly roleRef: RoleRef;
  /** Subjects holds references to the objects the role applies to. */
  readonly subjects?: readonly Subject[];
}
/** Names rolebindings of rbac.authorization.k8s.io/v1. */
export const RoleBinding = /* @__PURE__ */ defineKind<RoleBinding>({ group: "rbac.authorization.k8s.io", version: "v1", kind: "RoleBinding", plural: "rolebindings", namespaced: true });

/** RoleRef contains information that points to the role being used */
export interface RoleRef {
  /** APIGroup is the group for the resource being referenced */
  readonly apiGroup?: string;
  /** Kind is the type of resource being referenced */
  readonly kind: string;
  /** Name is the name of resource being referenced */
  readonly name: string;
}

/** Subject contains a reference to the object or user identities a role binding applies to.  This can either hold a direct API object reference, or a value for non-objects such as user and group names. */
export interface Subject {
  /** APIGroup holds the API group of the referenced subject. Defaults to "" for ServiceAccount subjects. Defaults to "rbac.authorization.k8s.io" for User and Group subjects. */
  readonly apiGroup?: string;
  /** Kind of object being referenced. Values defined by this API group are "User", "Group", and "ServiceAccount". If the Authorizer does not recognized the kind value, the Authorizer should report an error. */
  readonly kind: string;
  /** Name of the object being referenced. */
  readonly name: string;
  /** Namespace of the referenced object.  If the object kind is non-namespace, such as "User" or "Group", and this value is not empty the Authorizer should report an error. */
  readonly namespace?: string;
}
