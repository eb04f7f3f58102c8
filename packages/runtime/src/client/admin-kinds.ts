// The built-in kinds of those who set a cluster up: its rights, its custom kinds and its admission webhooks.
import type { Condition, LabelSelector } from "./core-kinds.ts";
import { defineKind } from "./kind.ts";
import type { KubeObject } from "./object.ts";

export interface CustomResourceDefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema?: { readonly openAPIV3Schema?: unknown };
  readonly subresources?: { readonly status?: object; readonly scale?: object };
  readonly additionalPrinterColumns?: readonly unknown[];
}
export interface CustomResourceDefinition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly scope: "Namespaced" | "Cluster";
    readonly names: {
      readonly kind: string;
      readonly plural: string;
      readonly singular?: string;
      readonly listKind?: string;
      readonly shortNames?: readonly string[];
      readonly categories?: readonly string[];
    };
    readonly versions: readonly CustomResourceDefinitionVersion[];
    readonly conversion?: unknown;
  };
  readonly status?: { readonly conditions?: readonly Condition[]; readonly storedVersions?: readonly string[] };
}
export const CustomResourceDefinition = defineKind<CustomResourceDefinition>({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});

/** A rule of RBAC. */
export interface PolicyRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}
export interface Role extends KubeObject {
  readonly rules?: readonly PolicyRule[];
}
export interface ClusterRole extends KubeObject {
  readonly rules?: readonly PolicyRule[];
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelector[] };
}
export interface RoleBinding extends KubeObject {
  readonly roleRef: { readonly apiGroup: string; readonly kind: "Role" | "ClusterRole"; readonly name: string };
  readonly subjects?: readonly {
    readonly kind: "ServiceAccount" | "User" | "Group";
    readonly name: string;
    readonly namespace?: string;
    readonly apiGroup?: string;
  }[];
}
export type ClusterRoleBinding = RoleBinding;

const rbac = { group: "rbac.authorization.k8s.io", version: "v1" } as const;
export const Role = defineKind<Role>({ ...rbac, kind: "Role", plural: "roles", namespaced: true });
export const ClusterRole = defineKind<ClusterRole>({ ...rbac, kind: "ClusterRole", plural: "clusterroles", namespaced: false });
export const RoleBinding = defineKind<RoleBinding>({ ...rbac, kind: "RoleBinding", plural: "rolebindings", namespaced: true });
export const ClusterRoleBinding = defineKind<ClusterRoleBinding>({
  ...rbac,
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
});

/** Which requests a webhook is for; `*` stands for all. */
export interface WebhookRule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  /** Such as `pods`, `pods/*` or `*`. */
  readonly resources?: readonly string[];
  /** Default `*`. */
  readonly scope?: "Cluster" | "Namespaced" | "*";
}
export interface MutatingWebhook {
  readonly name: string;
  readonly clientConfig: {
    readonly url?: string;
    readonly service?: { readonly namespace: string; readonly name: string; readonly path?: string; readonly port?: number };
    /** Base64 of PEM. */
    readonly caBundle?: string;
  };
  readonly rules?: readonly WebhookRule[];
  readonly failurePolicy?: "Ignore" | "Fail";
  readonly matchPolicy?: "Exact" | "Equivalent";
  readonly reinvocationPolicy?: "Never" | "IfNeeded";
  readonly timeoutSeconds?: number;
  readonly sideEffects: "None" | "NoneOnDryRun";
  readonly admissionReviewVersions: readonly string[];
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  /** CEL; all must hold. */
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
}
export interface MutatingWebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly MutatingWebhook[];
}
export const MutatingWebhookConfiguration = defineKind<MutatingWebhookConfiguration>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
  namespaced: false,
});

/** Asks whether we may do something; can only be created, and is answered at once in its status. */
export interface SelfSubjectAccessReview extends KubeObject {
  readonly spec: {
    readonly resourceAttributes?: {
      readonly group?: string;
      readonly version?: string;
      readonly resource?: string;
      readonly subresource?: string;
      readonly namespace?: string;
      readonly name?: string;
      readonly verb?: string;
    };
    readonly nonResourceAttributes?: { readonly path: string; readonly verb: string };
  };
  readonly status?: { readonly allowed: boolean; readonly denied?: boolean; readonly reason?: string; readonly evaluationError?: string };
}
export const SelfSubjectAccessReview = defineKind<SelfSubjectAccessReview>({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
});
