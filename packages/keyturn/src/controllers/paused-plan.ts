// The plan for an object that is paused: nothing is written, and its status says so.
import type { Condition, KubeObject, Plan } from "@keyturn/runtime";
import { type Pause, pausedConditions, pausedNotice } from "./attention.ts";

/** An object whose status has conditions. */
interface Conditioned<Status> extends KubeObject {
  readonly status?: Status;
}

/** For kinds whose status may consist of conditions alone. */
export function pausedPlan<Status extends { readonly conditions?: readonly Condition[] | undefined }>(
  { metadata: { generation }, status }: Conditioned<Status>,
  pause: Pause,
  nowMs: number,
): Plan<Status | { readonly conditions: readonly Condition[] }> {
  const before = status?.conditions ?? [];
  const conditions = pausedConditions(before, pause, { generation, nowMs });
  return {
    writes: [],
    status: { ...status, conditions },
    notices: conditions === before ? [] : [pausedNotice(pause)],
    nextAtMs: pause.untilMs,
  };
}
