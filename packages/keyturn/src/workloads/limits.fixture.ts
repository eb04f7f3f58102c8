// Limits for tests of what is restarted when.
import type { Limits } from "./rollout-plan.ts";

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
