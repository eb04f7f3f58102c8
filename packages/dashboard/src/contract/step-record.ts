// How one of the five controllers fares.
import type { StepName } from "./record.ts";

/** What keeps a watch from showing what there is. */
export interface WatchTrouble {
  /** `plural.group`. */
  readonly resource: string;
  /** Absent if the whole cluster was meant. */
  readonly namespace?: string;
  /** `missing`: the kind is not installed. `forbidden`: a right is missing. `retrying`: the API server does not answer. `syncing`: the first list is on its way. */
  readonly state: "missing" | "forbidden" | "retrying" | "syncing";
  /** The missing right, or what failed. */
  readonly message: string;
}

/** One of the five steps. There are always five of these records; counts are made by the page from the other records. */
export interface StepRecord {
  readonly type: "step";
  /** `step/<name>`. */
  readonly id: string;
  readonly step: StepName;
  /** One sentence that says what the step does. */
  readonly summary: string;
  /** `on`: its objects are shown. `off`: it is not switched on in this operator. `absent`: none of its kinds is installed, and nobody misses them. `limited`: some of its kinds cannot be seen, see `troubles`. */
  readonly state: "on" | "off" | "absent" | "limited";
  /** The kinds whose objects are shown: `plural.group`. */
  readonly resources: readonly string[];
  /** Those of them that this viewer may not see; their records are left out. */
  readonly hidden: readonly string[];
  readonly troubles: readonly WatchTrouble[];
  /** Whether an operator works on it; absent until that has been found out. */
  readonly leader?: StepLeader;
  /** When what is shown was last known to be so; absent while it is. */
  readonly asOfMs?: number;
}

/** Whether an operator works on a step: `none` does, or it is `unknown` whether one does; then `message` says why. */
export interface StepLeader {
  readonly state: "led" | "none" | "unknown";
  readonly message: string;
}
