// The Kubernetes kinds that operators use, with the fields that they use. Anything else about an object is still there, only not typed.
import { defineKind, type KubeObject, type ObjectMeta } from "./kind.ts";

const core = { group: "", version: "v1" } as const;

/** A condition in an object's status. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

/** A selector as in workloads: all labels, and all expressions, must match. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
    readonly values?: readonly string[];
  }[];
}

/** A reference to an object in a known place. */
interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** Values of `data` are base64; `stringData` is only ever written. */
export interface Secret extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}
export const Secret = defineKind<Secret>({ ...core, kind: "Secret", plural: "secrets", namespaced: true });

/** Settings as text or bytes, for pods to read. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  /** Base64. */
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}
export const ConfigMap = defineKind<ConfigMap>({ ...core, kind: "ConfigMap", plural: "configmaps", namespaced: true });

/** A space for names, and for rights. */
export interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: "Active" | "Terminating" };
}
export const Namespace = defineKind<Namespace>({ ...core, kind: "Namespace", plural: "namespaces", namespaced: false });

interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly targetPort?: number | string;
  readonly protocol?: "TCP" | "UDP" | "SCTP";
}
/** One address for the pods that it selects. */
export interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName";
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly ServicePort[];
    readonly clusterIP?: string;
    readonly externalName?: string;
    readonly ipFamilies?: readonly string[];
    readonly ipFamilyPolicy?: string;
  };
}
export const Service = defineKind<Service>({ ...core, kind: "Service", plural: "services", namespaced: true });

/** Who a pod is to the API server. */
export interface ServiceAccount extends KubeObject {
  readonly secrets?: readonly ObjectReference[];
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly automountServiceAccountToken?: boolean;
}
export const ServiceAccount = defineKind<ServiceAccount>({ ...core, kind: "ServiceAccount", plural: "serviceaccounts", namespaced: true });

/** A folder that containers of a pod can mount. */
export interface Volume {
  readonly name: string;
  readonly secret?: { readonly secretName?: string; readonly optional?: boolean };
  readonly configMap?: { readonly name?: string; readonly optional?: boolean };
  readonly projected?: {
    readonly sources?: readonly { readonly secret?: { readonly name?: string }; readonly configMap?: { readonly name?: string } }[];
  };
}
/** One container of a pod. */
export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  /** `Always` makes an init container a sidecar. */
  readonly restartPolicy?: string;
  readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: unknown }[];
  readonly ports?: readonly { readonly containerPort: number; readonly name?: string; readonly protocol?: string }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
}
/** What a pod is made of. */
export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly serviceAccountName?: string;
  readonly nodeName?: string;
  readonly restartPolicy?: "Always" | "OnFailure" | "Never";
}
/** What a workload makes its pods from. */
export interface PodTemplateSpec {
  readonly metadata?: ObjectMeta;
  readonly spec?: PodSpec;
}
interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly imageID: string;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}
interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: { readonly exitCode: number; readonly reason?: string; readonly message?: string };
}
/** Containers that run together on one node. */
export interface Pod extends KubeObject {
  readonly spec?: PodSpec;
  readonly status?: {
    readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
    readonly podIP?: string;
    readonly startTime?: string;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}
export const Pod = defineKind<Pod>({ ...core, kind: "Pod", plural: "pods", namespaced: true });

/** A machine that runs pods. */
export interface Node extends KubeObject {
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  };
}
export const Node = defineKind<Node>({ ...core, kind: "Node", plural: "nodes", namespaced: false });

/** events.k8s.io/v1. `eventTime` and the series' time are MicroTimes. */
export interface Event extends KubeObject {
  readonly eventTime: string | null;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly action: string;
  readonly note?: string;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly regarding?: ObjectReference;
  readonly related?: ObjectReference;
}
export const Event = defineKind<Event>({ group: "events.k8s.io", version: "v1", kind: "Event", plural: "events", namespaced: true });

/** `acquireTime` and `renewTime` are MicroTimes. */
export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string | null;
    readonly renewTime?: string | null;
    readonly leaseTransitions?: number;
  };
}
export const Lease = defineKind<Lease>({ group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases", namespaced: true });

// The built-in kinds of those who set a cluster up: its rights, its custom kinds and its admission webhooks.

/** One version of a custom kind. */
export interface CustomResourceDefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema?: { readonly openAPIV3Schema?: unknown };
  readonly subresources?: { readonly status?: object; readonly scale?: object };
  readonly additionalPrinterColumns?: readonly unknown[];
}
/** Declares a custom kind to the API server. */
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
/** Rights within one namespace. */
export interface Role extends KubeObject {
  readonly rules?: readonly PolicyRule[];
}
/** Rights that hold in every namespace, or that bindings give in one. */
export interface ClusterRole extends KubeObject {
  readonly rules?: readonly PolicyRule[];
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelector[] };
}
/** Gives the rights of a Role or a ClusterRole within one namespace. */
export interface RoleBinding extends KubeObject {
  readonly roleRef: { readonly apiGroup: string; readonly kind: "Role" | "ClusterRole"; readonly name: string };
  readonly subjects?: readonly {
    readonly kind: "ServiceAccount" | "User" | "Group";
    readonly name: string;
    readonly namespace?: string;
    readonly apiGroup?: string;
  }[];
}
/** Gives the rights of a ClusterRole in the whole cluster. */
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
/** One webhook that may change objects before they are stored. */
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
/** Webhooks that may change objects before they are stored. */
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

// The built-in kinds that run pods, and what leads traffic to them.

/** Runs a number of equal pods, and replaces them step by step. */
export interface Deployment extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly paused?: boolean;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly unavailableReplicas?: number;
    readonly conditions?: readonly Condition[];
  };
}
export const Deployment = defineKind<Deployment>({ group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true });

/** Runs pods that keep their names and their volumes. */
export interface StatefulSet extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly serviceName?: string;
    readonly updateStrategy?: { readonly type?: "RollingUpdate" | "OnDelete"; readonly rollingUpdate?: { readonly partition?: number } };
    readonly volumeClaimTemplates?: readonly KubeObject[];
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
  };
}
export const StatefulSet = defineKind<StatefulSet>({ group: "apps", version: "v1", kind: "StatefulSet", plural: "statefulsets", namespaced: true });

/** Runs a pod on every node that it selects. */
export interface DaemonSet extends KubeObject {
  readonly spec?: {
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly updateStrategy?: { readonly type?: "RollingUpdate" | "OnDelete" };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly desiredNumberScheduled?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberReady?: number;
    readonly numberAvailable?: number;
    readonly numberUnavailable?: number;
  };
}
export const DaemonSet = defineKind<DaemonSet>({ group: "apps", version: "v1", kind: "DaemonSet", plural: "daemonsets", namespaced: true });

/** Runs a number of equal pods; Deployments make them. */
export interface ReplicaSet extends KubeObject {
  readonly spec?: { readonly replicas?: number; readonly selector: LabelSelector; readonly template?: PodTemplateSpec };
  readonly status?: { readonly observedGeneration?: number; readonly replicas?: number; readonly readyReplicas?: number };
}
export const ReplicaSet = defineKind<ReplicaSet>({ group: "apps", version: "v1", kind: "ReplicaSet", plural: "replicasets", namespaced: true });

/** Runs pods until enough of them have succeeded. */
export interface Job extends KubeObject {
  readonly spec?: {
    readonly template: PodTemplateSpec;
    readonly parallelism?: number;
    readonly completions?: number;
    readonly backoffLimit?: number;
    readonly ttlSecondsAfterFinished?: number;
  };
  readonly status?: {
    readonly active?: number;
    readonly succeeded?: number;
    readonly failed?: number;
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly conditions?: readonly Condition[];
  };
}
export const Job = defineKind<Job>({ group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true });

interface IngressBackend {
  readonly service?: { readonly name: string; readonly port?: { readonly number?: number; readonly name?: string } };
}
interface IngressRule {
  readonly host?: string;
  readonly http?: { readonly paths: readonly { readonly path?: string; readonly pathType: string; readonly backend: IngressBackend }[] };
}
/** Leads HTTP from outside to Services. */
export interface Ingress extends KubeObject {
  readonly spec?: {
    readonly ingressClassName?: string;
    readonly defaultBackend?: IngressBackend;
    readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName?: string }[];
    readonly rules?: readonly IngressRule[];
  };
}
export const Ingress = defineKind<Ingress>({ group: "networking.k8s.io", version: "v1", kind: "Ingress", plural: "ingresses", namespaced: true });
