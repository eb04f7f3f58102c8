// A candidate for tests of what is made of candidates.
import type { Candidate, WorkloadRef } from "./rollout-plan.ts";

/** A workload whose pods have another image than new ones would, and that may be restarted; `more` says what else is true of it. */
export function outdatedCandidate(ref: WorkloadRef, more: Partial<Candidate> = {}): Candidate {
  return {
    ref,
    uid: "u",
    generation: 2,
    isStarted: true,
    inspection: { type: "outdated", reason: "ImageDiffers", message: "pod x has another image", digest: "d1" },
    by: { sidecars: "ImageDiffers" },
    progress: "finished",
    restarting: false,
    restartedAtMs: undefined,
    replaced: true,
    blocker: undefined,
    paused: undefined,
    restartedFor: undefined,
    ...more,
  };
}
