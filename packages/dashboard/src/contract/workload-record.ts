// A workload with a sidecar: whether it is outdated, and what the plan says about it.
import type { RecordBase } from "./record.ts";

/**
 * A workload. Those whose pods all have the sidecar that new ones would get are shown as `done` if Keyturn has restarted them, and else not at all.
 * `health` is made from the decision: restart and rolling are busy, wait is waiting, skip is a warning, stuck is an error.
 */
export interface WorkloadRecord extends RecordBase {
  readonly type: "workload";
  /** `workload/<kind>/<namespace>/<name>`. */
  readonly id: string;
  readonly step: "sidecars";
  /** `outdated`: to be restarted now. `rolling`: being restarted. `waiting`: will be restarted. `heldBack`: will not be. `unknown`: cannot be told. */
  readonly phase: "outdated" | "rolling" | "done" | "waiting" | "heldBack" | "unknown";
  /** What is wrong with its pods, in one word; absent if nothing is or if it is not known. */
  readonly outdated?: string;
  /** The same in words, or why it is not known. */
  readonly why: string;
  /** What the plan of this moment does with it: the words of `keyturn plan sidecars`. */
  readonly decision?: {
    readonly type: "restart" | "rolling" | "finish" | "wait" | "skip" | "unknown";
    readonly reason?: string;
    readonly untilMs?: number;
  };
  /** A rollout that takes longer than it may. */
  readonly stuck: boolean;
  readonly restartedMs?: number;
}
