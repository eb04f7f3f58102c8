// storagemigration.k8s.io/v1beta1 as Kubernetes publishes it. Written by `node tools/kubernetes-types.ts`: do not edit.
import { defineKind, type KubeObject } from "../../../client/kind.ts";
import type * as metaV1 from "../meta/v1.ts";

/** StorageVersionMigration represents a migration of stored data to the latest storage version. */
export interface StorageVersionMigration extends KubeObject {
  /** Specification of the migration. */
  readonly spec?: StorageVersionMigrationSpec;
  /** Status of the migration. */
  readonly status?: StorageVersionMigrationStatus;
}
/** Names storageversionmigrations of storagemigration.k8s.io/v1beta1. */
export const StorageVersionMigration = /* @__PURE__ */ defineKind<StorageVersionMigration>({ group: "storagemigration.k8s.io", version: "v1beta1", kind: "StorageVersionMigration", plural: "storageversionmigrations", namespaced: false });

/** Spec of the storage version migration. */
export interface StorageVersionMigrationSpec {
  /** The resource that is being migrated. The migrator sends requests to the endpoint serving the resource. Immutable. */
  readonly resource: metaV1.GroupResource;
}

/** Status of the storage version migration. */
export interface StorageVersionMigrationStatus {
  /** The latest available observations of the migration's current state. */
  readonly conditions?: readonly metaV1.Condition[];
  /** ResourceVersion to compare with the GC cache for performing the migration. This is the current resource version of given group, version and resource when kube-controller-manager first observes this StorageVersionMigration resource. */
  readonly resourceVersion?: string;
}
