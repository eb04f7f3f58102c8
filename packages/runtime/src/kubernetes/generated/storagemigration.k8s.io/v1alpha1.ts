// storagemigration.k8s.io/v1alpha1 as Kubernetes publishes it. Written by `node tools/kubernetes-types.ts`: do not edit.
import { defineKind, type KubeObject } from "../../../client/kind.ts";

/** The names of the group, the version, and the resource. */
export interface GroupVersionResource {
  /** The name of the group. */
  readonly group?: string;
  /** The name of the resource. */
  readonly resource?: string;
  /** The name of the version. */
  readonly version?: string;
}

/** Describes the state of a migration at a certain point. */
export interface MigrationCondition {
  /** The last time this condition was updated. */
  readonly lastUpdateTime?: string;
  /** A human readable message indicating details about the transition. */
  readonly message?: string;
  /** The reason for the condition's last transition. */
  readonly reason?: string;
  /** Status of the condition, one of True, False, Unknown. */
  readonly status: string;
  /** Type of the condition. */
  readonly type: string;
}

/** StorageVersionMigration represents a migration of stored data to the latest storage version. */
export interface StorageVersionMigration extends KubeObject {
  /** Specification of the migration. */
  readonly spec?: StorageVersionMigrationSpec;
  /** Status of the migration. */
  readonly status?: StorageVersionMigrationStatus;
}
/** Names storageversionmigrations of storagemigration.k8s.io/v1alpha1. */
export const StorageVersionMigration = /* @__PURE__ */ defineKind<StorageVersionMigration>({ group: "storagemigration.k8s.io", version: "v1alpha1", kind: "StorageVersionMigration", plural: "storageversionmigrations", namespaced: false });

/** Spec of the storage version migration. */
export interface StorageVersionMigrationSpec {
  /** The token used in the list options to get the next chunk of objects to migrate. When the .status.conditions indicates the migration is "Running", users can use this token to check the progress of the migration. */
  readonly continueToken?: string;
  /** The resource that is being migrated. The migrator sends requests to the endpoint serving the resource. Immutable. */
  readonly resource: GroupVersionResource;
}

/** Status of the storage version migration. */
export interface StorageVersionMigrationStatus {
  /** The latest available observations of the migration's current state. */
  readonly conditions?: readonly MigrationCondition[];
  /** ResourceVersion to compare with the GC cache for performing the migration. This is the current resource version of given group, version and resource when kube-controller-manager first observes this StorageVersionMigration resource. */
  readonly resourceVersion?: string;
}
