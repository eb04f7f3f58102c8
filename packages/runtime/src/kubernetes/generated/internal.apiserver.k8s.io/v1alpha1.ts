// internal.apiserver.k8s.io/v1alpha1 as Kubernetes publishes it. Written by `node tools/kubernetes-types.ts`: do not edit.
import { defineKind, type KubeObject } from "../../../client/kind.ts";

/** An API server instance reports the version it can decode and the version it encodes objects to when persisting objects in the backend. */
export interface ServerStorageVersion {
  /** apiServerID is the ID of the reporting API server. */
  readonly apiServerID: string;
  /** decodableVersions are the encoding versions the API server can handle to decode. The API server can decode objects encoded in these versions. The encodingVersion must be included in the decodableVersions. */
  readonly decodableVersions: readonly string[];
  /** encodingVersion the API server encodes the object to when persisting it in the backend (e.g., etcd). */
  readonly encodingVersion: string;
  /** servedVersions lists all versions the API server can serve. DecodableVersions must include all ServedVersions. */
  readonly servedVersions?: readonly string[];
}

/** Storage version of a specific resource. */
export interface StorageVersion extends KubeObject {
  /** spec is an empty spec. It is here to comply with Kubernetes API style. */
  readonly spec?: StorageVersionSpec;
  /** status on the version the API server instance can decode from and encode objects to when persisting objects in the backend. */
  readonly status?: StorageVersionStatus;
}
/** Names storageversions of internal.apiserver.k8s.io/v1alpha1. */
export const StorageVersion = /* @__PURE__ */ defineKind<StorageVersion>({ group: "internal.apiserver.k8s.io", version: "v1alpha1", kind: "StorageVersion", plural: "storageversions", namespaced: false });

/** Describes the state of the storageVersion at a certain point. */
export interface StorageVersionCondition {
  /** lastTransitionTime is the last time the condition transitioned from one status to another. */
  readonly lastTransitionTime?: string;
  /** message is a human readable string indicating details about the transition. */
  readonly message: string;
  /** observedGeneration represents the .metadata.generation that the condition was set based upon, if field is set. */
  readonly observedGeneration?: number;
  /** reason for the condition's last transition. */
  readonly reason: string;
  /** status of the condition, one of True, False, Unknown. */
  readonly status: string;
  /** type of the condition. */
  readonly type: string;
}

/** StorageVersionSpec is an empty spec. */
export type StorageVersionSpec = Readonly<Record<string, unknown>>;

/** API server instances report the versions they can decode and the version they encode objects to when persisting objects in the backend. */
export interface StorageVersionStatus {
  /** commonEncodingVersion is set to an encoding storage version if all API server instances share that same version. If they don't share one storage version, this field is left empty. API servers should finish updating its storageVersionStatus entry before serving write operations, so that this field will be in sync with the reality. */
  readonly commonEncodingVersion?: string;
  /** conditions lists the latest available observations of the storageVersion's state. */
  readonly conditions?: readonly StorageVersionCondition[];
  /** storageVersions lists the reported versions per API server instance. */
  readonly storageVersions?: readonly ServerStorageVersion[];
}
