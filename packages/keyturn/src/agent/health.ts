// When the agent is ready: something whole is served, and it is not known to be out of date for too long.
import { formatDuration, type HealthCheck, simpleCheck } from "@keyturn/runtime";
import type { Agent } from "./agent.ts";
import type { ServedSet } from "./served-set.ts";

/** Fails while nothing is promoted, or what is promoted is damaged. */
export function servedCheck(served: Pick<ServedSet, "promoted" | "isWhole" | "damage">): HealthCheck {
  return simpleCheck("served certificates", () => {
    if (!served.promoted) return served.damage ?? "nothing has been promoted yet";
    return served.isWhole ? undefined : served.damage;
  });
}

/** Fails when what is served has been unverified for longer than it may. `mostMs` 0: never. */
export function stalenessCheck(agent: Pick<Agent, "stalenessMs">, mostMs: number): HealthCheck {
  return simpleCheck("verified lately", () => {
    const { stalenessMs } = agent;
    if (mostMs === 0 || stalenessMs === undefined || stalenessMs <= mostMs) return undefined;
    return `what is served was last verified ${formatDuration(Math.round(stalenessMs / 1000) * 1000)} ago`;
  });
}
