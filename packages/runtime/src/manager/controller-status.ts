// How a controller fares, in a few words, for health checks, logs and people.
import type { WatchStatus } from "../cache/caches.ts";
import type { Activity } from "../controller/observer.ts";
import type { ElectionProblem } from "./lease-elector.ts";

/** The state of a controller in this process. */
export type ControllerState =
  | "starting"
  | `waiting for CRD ${string}`
  | `forbidden: ${string}`
  | "standby"
  | "active"
  | `active, without ${string}`
  | "stopped";

/** A controller as the manager sees it. */
export interface ControllerStatus {
  readonly name: string;
  readonly state: ControllerState;
  /** Nothing needs anybody's attention in this process: it works, stands by, or waits for a CRD that is somebody else's to install. */
  readonly ready: boolean;
  readonly activity: Activity;
}

/** What the state is derived from. */
export interface StateFacts {
  readonly stopped: boolean;
  readonly watches: readonly WatchStatus[];
  readonly election: ElectionProblem | undefined;
  readonly active: boolean;
}

/** The state that says most: first what somebody must mend, then what is awaited, then what is done. */
export function controllerState({ stopped, watches, election, active }: StateFacts): ControllerState {
  if (stopped) return "stopped";
  for (const { state } of watches) if (state.type === "forbidden") return `forbidden: ${state.rule}`;
  if (election?.type === "forbidden") return `forbidden: ${election.rule}`;
  const missing = watches.filter(({ state }) => state.type === "missing");
  const awaited = missing.find(({ optional = false }) => !optional);
  if (awaited) return `waiting for CRD ${awaited.resource}`;
  if (active) return missing.length === 0 ? "active" : `active, without ${missing.map(({ resource }) => resource).join(", ")}`;
  return watches.every(({ synced }) => synced) ? "standby" : "starting";
}

/** Whether a controller in this state keeps the process from being ready. */
export function isReady(state: ControllerState): boolean {
  return state.startsWith("active") || state === "standby" || state.startsWith("waiting for CRD ");
}
