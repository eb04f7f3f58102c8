// coordination.k8s.io/v1 as Kubernetes publishes it. Written by `node tools/kubernetes-types.ts`: do not edit.
import { defineKind, type KubeObject } from "../../../client/kind.ts";

/** Lease defines a lease concept. */
export interface Lease extends KubeObject {
  /** spec contains the specification of the Lease. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status */
  readonly spec?: LeaseSpec;
}
/** Names leases of coordination.k8s.io/v1. */
export const Lease = /* @__PURE__ */ defineKind<Lease>({ group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases", namespaced: true });

/** LeaseSpec is a specification of a Lease. */
export interface LeaseSpec {
  /** acquireTime is a time when the current lease was acquired. */
  readonly acquireTime?: string;
  /** holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field. */
  readonly holderIdentity?: string;
  /** leaseDurationSeconds is a duration that candidates for a lease need to wait to force acquire it. This is measured against the time of last observed renewTime. */
  readonly leaseDurationSeconds?: number;
  /** leaseTransitions is the number of transitions of a lease between holders. */
  readonly leaseTransitions?: number;
  /** PreferredHolder signals to a lease holder that the lease has a more optimal holder and should be given up. This field can only be set if Strategy is also set. */
  readonly preferredHolder?: string;
  /** renewTime is a time when the current holder of a lease has last updated the lease. */
  readonly renewTime?: string;
  /** Strategy indicates the strategy for picking the leader for coordinated leader election. If the field is not specified, there is no active coordination for this lease. (Alpha) Using this field requires the CoordinatedLeaderElection feature gate to be enabled. */
  readonly strategy?: string;
}
