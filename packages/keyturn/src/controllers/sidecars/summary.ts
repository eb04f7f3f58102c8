// How a workload that was restarted for its sidecar fares, for people.
import { restartTimeMs } from "./annotations.ts";
import type { NextStep, Summary, HealthReport } from "../../feature/summary.ts";
import { skipInWords } from "./rollouts.ts";
import type { Workload } from "./workload.ts";

/** As much of a workload as is needed. What is only known by its labels and annotations has no `progress`. */
export type RestartedWorkload = Pick<Workload, "ref" | "restarting" | "restartedAt" | "restartedFor"> &
  Partial<Pick<Workload, "progress" | "desired">>;

/** From the labels and annotations that the controller left; undefined for a workload that it has nothing to do with at present. `rolloutTimeoutMs` is the operator's flag. */
export function sidecarsSummary(
  workload: RestartedWorkload,
  { rolloutTimeoutMs, nowMs }: { readonly rolloutTimeoutMs: number; readonly nowMs: number },
): Summary | undefined {
  const { ref, restarting, restartedAt, restartedFor, progress, desired } = workload;
  if (!restarting && restartedFor === undefined) return undefined;
  const sinceMs = restartTimeMs(restartedAt);
  const stuckAtMs = restarting && sinceMs !== undefined && rolloutTimeoutMs > 0 ? sinceMs + rolloutTimeoutMs : undefined;
  const next: NextStep | undefined =
    stuckAtMs !== undefined && stuckAtMs > nowMs ? { atMs: stuckAtMs, what: "counts as stuck unless it is healthy by then" } : undefined;
  return {
    kind: ref.kind,
    namespace: ref.namespace,
    name: ref.name,
    ...healthReportOf(restarting, { stuck: stuckAtMs !== undefined && stuckAtMs <= nowMs, progress, sinceMs }),
    detail: desired === undefined ? "" : `${desired} ${desired === 1 ? "pod" : "pods"}`,
    next,
    names: [ref.name],
  };
}

function healthReportOf(
  restarting: boolean,
  {
    stuck,
    progress,
    sinceMs,
  }: { readonly stuck: boolean; readonly progress: Workload["progress"] | undefined; readonly sinceMs: number | undefined },
): HealthReport {
  if (!restarting) return { health: "degraded", reason: "RestartWithoutEffect", message: skipInWords("RestartWithoutEffect"), sinceMs };
  if (stuck)
    return {
      health: "failed",
      reason: "RolloutStuck",
      message: "was restarted for its sidecar and is not healthy in time; see its pods",
      sinceMs,
    };
  const message =
    progress === "unhealthy" ? "all pods are replaced, and not all are available yet" : "was restarted for its sidecar; its pods are being replaced";
  return { health: "progressing", reason: "Rolling", message, sinceMs };
}
