// The records of workloads: what the plan of this moment says about each.
import type { Health, WorkloadRecord } from "@keyturn/dashboard/contract";
import type { DeepReadonly, Kind } from "@keyturn/runtime";
import type { WorkloadRef } from "../../controllers/sidecars/candidate.ts";
import { restartTimeMs } from "../../controllers/sidecars/marks.ts";
import { skipInWords } from "../../controllers/sidecars/notices.ts";
import type { Decision, Row } from "../../controllers/sidecars/plan.ts";
import type { Workload } from "../../controllers/sidecars/workload.ts";
import { defined, objectRef, shownText } from "./record-base.ts";

/** What is known of a workload. */
export interface ShownWorkload {
  readonly ref: WorkloadRef;
  readonly kind: Kind;
  /** What is decided about it; undefined if there is nothing to decide. */
  readonly row: Row | undefined;
  /** Undefined for pods that nobody can restart. */
  readonly workload: Pick<DeepReadonly<Workload>, "restartedAt"> | undefined;
}

export function workloadRecordId({ kind, namespace, name }: WorkloadRef): string {
  return `workload/${kind}/${namespace}/${name}`;
}

/** The record; undefined for a workload that is as it should be and was never restarted. */
export function workloadRecord({ ref, kind, row, workload }: ShownWorkload): WorkloadRecord | undefined {
  const restartedMs = restartTimeMs(workload?.restartedAt);
  if (!row && restartedMs === undefined) return undefined;
  const { health, phase, reason, message } = row ? verdictOf(row.decision) : done;
  const decision = row?.decision;
  const untilMs = decision && "untilMs" in decision ? decision.untilMs : undefined;
  return {
    type: "workload",
    id: workloadRecordId(ref),
    step: "sidecars",
    ref: objectRef(kind, ref),
    health,
    reason,
    message,
    ...defined("sinceMs", phase === "rolling" || phase === "done" ? restartedMs : undefined),
    conditions: [],
    ...defined("nextMs", untilMs),
    phase,
    ...defined("outdated", row?.outdated),
    why: shownText(row?.why ?? ""),
    ...(decision && {
      decision: { type: decision.type, ...("reason" in decision && { reason: decision.reason }), ...defined("untilMs", untilMs) },
    }),
    stuck: decision?.type === "rolling" && decision.stuck,
    ...defined("restartedMs", restartedMs),
  };
}

interface Verdict extends Pick<WorkloadRecord, "phase" | "reason" | "message"> {
  readonly health: Health;
}

const done: Verdict = { health: "ok", phase: "done", reason: "Current", message: "its pods have the sidecar that new ones would get" };

const rolling: Verdict = {
  health: "busy",
  phase: "rolling",
  reason: "Rolling",
  message: "was restarted for its sidecar; its pods are being replaced",
};

function verdictOf(decision: Decision): Verdict {
  switch (decision.type) {
    case "restart":
      return { health: "busy", phase: "outdated", reason: "Outdated", message: "is restarted next" };
    case "rolling":
      if (!decision.stuck) return rolling;
      return {
        ...rolling,
        health: "error",
        reason: "RolloutStuck",
        message: "was restarted for its sidecar and is not healthy in time; see its pods",
      };
    case "finish":
      return rolling;
    case "wait":
      return { health: "waiting", phase: "waiting", reason: decision.reason, message: "waits, and is restarted without anybody doing anything" };
    case "skip": {
      const isWished = decision.reason === "Paused" || decision.reason === "OptedOut" || decision.reason === "NotOptedIn";
      return { health: isWished ? "waiting" : "warning", phase: "heldBack", reason: decision.reason, message: skipInWords(decision.reason) };
    }
    case "unknown":
    default:
      return { health: "unknown", phase: "unknown", reason: decision.reason, message: "whether it is outdated cannot be told yet" };
  }
}
