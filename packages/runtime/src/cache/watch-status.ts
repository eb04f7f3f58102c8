// Puts the state of a watch into the words that health checks, logs and people read.
import type { Kind } from "../client/kind.ts";
import { resourceOf } from "../client/kind.ts";
import type { WatchState } from "../watch/watch-state.ts";
import type { WatchStatus } from "./caches.ts";

/** The status that `state` stands for. */
export function statusStateOf(state: WatchState, kind: Kind, namespace: string | undefined): WatchStatus["state"] {
  const { problem } = state;
  switch (problem?.type) {
    case "missing":
      return { type: "missing" };
    case "forbidden":
      return {
        type: "forbidden",
        rule: `${problem.verb} ${resourceOf(kind)} ${namespace === undefined ? "in the cluster" : `in namespace ${namespace}`}`,
      };
    case "failing":
      return { type: "retrying", error: problem.error };
    case undefined:
      break;
  }
  switch (state.type) {
    case "idle":
      return { type: "idle" };
    case "streaming":
    case "paging":
      return { type: "syncing" };
    case "watching":
    case "waiting":
    default:
      return { type: "live" };
  }
}

/** Of several statuses the one that needs attention most. */
export function worstStatus(statuses: readonly WatchStatus[]): WatchStatus | undefined {
  const rank: Readonly<Record<WatchStatus["state"]["type"], number>> = { forbidden: 5, missing: 4, retrying: 3, idle: 2, syncing: 1, live: 0 };
  return statuses.toSorted((a, b) => rank[b.state.type] - rank[a.state.type])[0];
}
