// What the controller sees, for others in the process who only want to look.
import type { WorkloadId } from "./candidate.ts";
import type { Inspector } from "./inspector.ts";
import type { Limits } from "./plan.ts";
import type { SidecarsWatches } from "./watches.ts";

/** The controller's caches, and the inspector that judges by them. */
export interface SidecarsSight {
  readonly watches: SidecarsWatches;
  readonly inspector: Pick<Inspector, "inspect" | "workload">;
  readonly limits: Limits;
  /** Tells of answers that an inspection has been waiting for. */
  onAnswer(this: void, listener: (id: WorkloadId) => void): void;
}
