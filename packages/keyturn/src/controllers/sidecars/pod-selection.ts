// Which pods are compared with what a new one would get: those that live, and were made since the workload's last restart.
import { isBeingDeleted, type Pod, type Stored } from "@keyturn/runtime";
import { restartTimeMs } from "./annotations.ts";
import type { LivePod } from "./pods.ts";
import type { WorkloadRef } from "./rollout-plan.ts";

/** Pods that have run to their end are not even sent by the API server. */
export const livePhases = "status.phase!=Succeeded,status.phase!=Failed";

/** A pod that is failed, finished or on its way out counts for nothing. */
export function isDead(pod: Stored<Pod>): boolean {
  const { phase } = pod.status ?? {};
  return isBeingDeleted(pod) || phase === "Succeeded" || phase === "Failed";
}

/**
 * The pods that count: those made since the last restart. Once that is finished there are no others, and a cache that still shows some is behind.
 * A pod made from a restarted template says so itself; a Rollout's pods only have their age.
 */
export function countedPods<P extends Pick<LivePod, "restartedAt" | "createdAtMs">>(
  { ref, restartedAt }: { readonly ref: Pick<WorkloadRef, "kind">; readonly restartedAt: string | undefined },
  pods: readonly P[],
): readonly P[] {
  if (ref.kind !== "Rollout") return pods.filter((pod) => pod.restartedAt === restartedAt);
  const sinceMs = restartTimeMs(restartedAt) ?? 0;
  return pods.filter(({ createdAtMs }) => createdAtMs >= sinceMs);
}
