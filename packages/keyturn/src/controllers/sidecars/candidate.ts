// What the plan knows of one workload: whether its pods have the sidecar that new ones would get, and whether it may be restarted.
import type { OutdatedReason } from "./injection/comparison.ts";
import type { SkipReason, UnknownReason } from "./reasons.ts";

/** Names a workload, or something else that pods belong to. */
export interface WorkloadRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** `kind/namespace/name`. Two workloads of one name and different kinds are two. */
export type WorkloadId = string;

export function workloadId({ kind, namespace, name }: WorkloadRef): WorkloadId {
  return `${kind}/${namespace}/${name}`;
}

/** The inverse of `workloadId`. */
export function workloadRef(id: WorkloadId): WorkloadRef {
  const [kind = "", namespace = "", name = ""] = id.split("/");
  return { kind, namespace, name };
}

/** How the live pods compare with what new ones would get. */
export type Verdict =
  | { readonly type: "current" }
  /** `digest` stands for the sidecar that was expected. */
  | { readonly type: "outdated"; readonly reason: OutdatedReason; readonly message: string; readonly digest: string }
  | { readonly type: "unknown"; readonly reason: UnknownReason; readonly message: string };

/**
 * How far a workload's last change has come: `rolling` while pods are still to be replaced, `unhealthy` when all are but not all are available, `finished` otherwise.
 */
export type Progress = "rolling" | "unhealthy" | "finished";

/** A workload that the plan has to deal with: one that is not current, or that we restarted and whose rollout is not finished. */
export interface Candidate {
  readonly ref: WorkloadRef;
  readonly verdict: Verdict;
  readonly progress: Progress;
  /** It carries our mark: we restarted it and have not seen its rollout finished. */
  readonly restarting: boolean;
  /** When anybody last restarted it by the annotation. */
  readonly restartedAtMs: number | undefined;
  /** As many pods of its last restart are seen as it should have, so that the verdict is about those. */
  readonly replaced: boolean;
  /** What makes a restart pointless or impossible. */
  readonly hindrance: SkipReason | undefined;
  /** What people have said about restarts, on the workload or else on its namespace. */
  readonly consent: "enabled" | "disabled" | undefined;
  /** The annotation that pauses it, as it was written. */
  readonly paused: string | undefined;
  /** The digest of the sidecar that the restart under way is to bring; with none under way, of the one that the last restart did not bring. */
  readonly restartedFor: string | undefined;
  /** After a restart that the API server did not take: when to try again. */
  readonly retryAtMs: number | undefined;
}
