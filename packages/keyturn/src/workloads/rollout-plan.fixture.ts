// Candidates and limits for tests of what is restarted when.
import type { Candidate, Limits, WorkloadRef } from "./rollout-plan.ts";

const minute = 60_000;

/** The usual limits, with room for so many rollouts at a time. */
export function limitsFor(maxRollouts: number): Limits {
  return {
    maxRollouts,
    restartDelayMs: 0,
    cooldownMs: 5 * minute,
    rolloutTimeoutMs: 10 * minute,
    continueWhenStuck: false,
    maintenance: { windows: [], timeZone: "UTC" },
  };
}

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
