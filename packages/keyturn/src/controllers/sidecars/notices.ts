// What people are told about a workload, once for each change of what is decided about it.
import type { Notice } from "@keyturn/runtime";
import type { WorkloadId } from "./candidate.ts";
import type { Row, RolloutPlan } from "./plan.ts";
import type { EventReason, SkipReason } from "./reasons.ts";

/** A notice and whom it is about. */
export interface RowNotice extends Notice {
  readonly row: Row;
}

const skipWords: Readonly<Record<SkipReason, string>> = {
  OptedOut: "restarts are disabled by label",
  NotOptedIn: "restarts are not enabled by label",
  Paused: "it is paused, by its spec or by the annotation keyturn.io/paused; resume it, and it will be restarted",
  OnDelete: "its update strategy is OnDelete; delete its pods one by one",
  Partitioned: "its update strategy has a partition, below which no pod would be replaced",
  BarePod: "nothing would make the pod again; delete it and create it anew",
  Job: "pods of a Job run to their end",
  UnsupportedOwner: "its pods belong to something that cannot be restarted here",
  RestartWithoutEffect: "it has been restarted, and its new pods are no different; something else changes them",
};

/** Why a workload is not restarted, in words. */
export function skipInWords(reason: SkipReason): string {
  return skipWords[reason];
}

/** Remembers what was said last. */
export class Notices {
  readonly #said = new Map<WorkloadId, string>();

  /** What is new in this plan. Restarts and their ends are told when they are done. */
  next({ rows }: RolloutPlan): readonly RowNotice[] {
    const present = new Set(rows.map(({ id }) => id));
    for (const id of this.#said.keys()) if (!present.has(id)) this.#said.delete(id);
    return rows.flatMap((row) => {
      const notice = noticeOf(row);
      const saying = notice ? `${notice.reason} ${notice.message}` : "";
      const before = this.#said.get(row.id) ?? "";
      this.#said.set(row.id, saying);
      return notice && saying !== before ? [{ ...notice, row }] : [];
    });
  }
}

function noticeOf({ decision, why }: Row): Notice | undefined {
  switch (decision.type) {
    case "skip":
      return {
        type: decision.reason === "RestartWithoutEffect" ? "Warning" : "Normal",
        reason: decision.reason,
        message: `${why}; not restarted: ${skipWords[decision.reason]}`,
      };
    case "unknown":
      return decision.reason === "Pending" ? undefined : { type: "Warning", reason: decision.reason, message: why };
    case "rolling":
      return decision.stuck
        ? { type: "Warning", reason: "RolloutStuck", message: "was restarted for its sidecar and is not healthy in time; see its pods" }
        : undefined;
    case "restart":
    case "finish":
    case "wait":
    default:
      return undefined;
  }
}

/** After a restart. */
export function restartNotice({ why }: Row): Notice {
  const reason: EventReason = "SidecarRestart";
  return { type: "Normal", reason, message: `restarted: ${why}` };
}

/** After a rollout that has come to its end. */
export function finishNotice({ decision }: Row): Notice | undefined {
  // One without effect is told about as what is skipped from now on.
  if (decision.type !== "finish" || !decision.helped) return undefined;
  const reason: EventReason = "SidecarRolloutFinished";
  return { type: "Normal", reason, message: "the rollout is finished and every pod has the expected sidecar" };
}
