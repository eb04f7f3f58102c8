// coordination.k8s.io/v1alpha2 as Kubernetes publishes it. Written by `node tools/kubernetes-types.ts`: do not edit.
import { defineKind, type KubeObject } from "../../../client/kind.ts";

/** LeaseCandidate defines a candidate for a Lease object. Candidates are created such that coordinated leader election will pick the best leader from the list of candidates. */
export interface LeaseCandidate extends KubeObject {
  /** spec contains the specification of the Lease. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status */
  readonly spec: LeaseCandidateSpec;
}
/** Names leasecandidates of coordination.k8s.io/v1alpha2. */
export const LeaseCandidate = /* @__PURE__ */ defineKind<LeaseCandidate>({ group: "coordination.k8s.io", version: "v1alpha2", kind: "LeaseCandidate", plural: "leasecandidates", namespaced: true });

/** LeaseCandidateSpec is a specification of a Lease. */
export interface LeaseCandidateSpec {
  /** BinaryVersion is the binary version. It must be in a semver format without leading `v`. This field is required. */
  readonly binaryVersion: string;
  /** EmulationVersion is the emulation version. It must be in a semver format without leading `v`. EmulationVersion must be less than or equal to BinaryVersion. This field is required when strategy is "OldestEmulationVersion" */
  readonly emulationVersion?: string;
  /** LeaseName is the name of the lease for which this candidate is contending. This field is immutable. */
  readonly leaseName: string;
  /** PingTime is the last time that the server has requested the LeaseCandidate to renew. It is only done during leader election to check if any LeaseCandidates have become ineligible. When PingTime is updated, the LeaseCandidate will respond by updating RenewTime. */
  readonly pingTime?: string;
  /** RenewTime is the time that the LeaseCandidate was last updated. Any time a Lease needs to do leader election, the PingTime field is updated to signal to the LeaseCandidate that they should update the RenewTime. Old LeaseCandidate objects are also garbage collected if it has been hours since the last renew. The PingTime field is updated regularly to prevent garbage collection for still active LeaseCandidates. */
  readonly renewTime?: string;
  /** Strategy is the strategy that coordinated leader election will use for picking the leader. If multiple candidates for the same Lease return different strategies, the strategy provided by the candidate with the latest BinaryVersion will be used. If there is still conflict, this is a user error and coordinated leader election will not operate the Lease until resolved. */
  readonly strategy: string;
}
