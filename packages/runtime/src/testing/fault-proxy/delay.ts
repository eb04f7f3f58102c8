// A fault that makes the way to the API server long.
import { sleep, systemClock } from "../../clock.ts";
import type { Clock } from "../../clock.ts";
import type { Fault, FaultScope } from "./fault.ts";
import { scopeOf } from "./fault.ts";

/** Passes matching requests on only after `delayMs`. */
export function delayBy(delayMs: number, scope: FaultScope = {}, clock: Clock = systemClock): Fault {
  return {
    ...scopeOf(scope),
    async intervene(request, next) {
      await sleep(clock, delayMs);
      return next(request);
    },
  };
}
