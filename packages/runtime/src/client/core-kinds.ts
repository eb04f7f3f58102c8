// The built-in kinds of the core group, and Events and Leases, with the fields that operators use. Anything else about an object is still there, only not typed.
import { defineKind } from "./kind.ts";
import type { KubeObject, ObjectMeta } from "./object.ts";

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
export interface ObjectReference {
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
export const Secret = defineKind<Secret>({ group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true });

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  /** Base64. */
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}
export const ConfigMap = defineKind<ConfigMap>({ group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });

export interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: "Active" | "Terminating" };
}
export const Namespace = defineKind<Namespace>({ group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false });

export interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly targetPort?: number | string;
  readonly protocol?: "TCP" | "UDP" | "SCTP";
}
export interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName";
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly ServicePort[];
    readonly clusterIP?: string;
    readonly externalName?: string;
  };
}
export const Service = defineKind<Service>({ group: "", version: "v1", kind: "Service", plural: "services", namespaced: true });

export interface ServiceAccount extends KubeObject {
  readonly secrets?: readonly ObjectReference[];
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly automountServiceAccountToken?: boolean;
}
export const ServiceAccount = defineKind<ServiceAccount>({
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
});

export interface Volume {
  readonly name: string;
  readonly secret?: { readonly secretName?: string; readonly optional?: boolean };
  readonly configMap?: { readonly name?: string; readonly optional?: boolean };
  readonly projected?: {
    readonly sources?: readonly { readonly secret?: { readonly name?: string }; readonly configMap?: { readonly name?: string } }[];
  };
}
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
export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly serviceAccountName?: string;
  readonly nodeName?: string;
  readonly restartPolicy?: "Always" | "OnFailure" | "Never";
}
export interface PodTemplateSpec {
  readonly metadata?: ObjectMeta;
  readonly spec?: PodSpec;
}
export interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly imageID: string;
  readonly ready: boolean;
  readonly restartCount: number;
}
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
export const Pod = defineKind<Pod>({ group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true });

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
export const Node = defineKind<Node>({ group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false });

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
