// Tells whether timers still fire: the one thing that makes a process worth killing when everything else may recover.
import type { Clock, Timer } from "../clock.ts";
import { simpleCheck } from "./health-report.ts";
import type { HealthCheck } from "./health-report.ts";

const beatEveryMs = 5000;
const lateAfterMs = 60_000;

/** Beats every 5 s. The check fails when there was no beat for a minute; `stop` ends the beating. */
export function startHeartbeat(clock: Clock): { readonly check: HealthCheck; stop(): void } {
  let lastMs = clock.monotonic();
  let timer: Timer;
  const beat = (): void => {
    lastMs = clock.monotonic();
    timer = clock.setTimer(beatEveryMs, beat);
  };
  beat();
  const check = simpleCheck("event loop", () => {
    const lateMs = clock.monotonic() - lastMs;
    return lateMs < lateAfterMs ? undefined : `timers have not fired for ${Math.round(lateMs / 1000)} s`;
  });
  return { check, stop: () => timer.cancel() };
}
