// A fault that calls back around the n-th write: the place to kill an operator between two of its writes.
import { scopeOf } from "./fault.ts";
import type { Fault, FaultScope } from "./fault.ts";

/** Before the API server hears of the write, or after it answered and before the client hears of that. */
export type WriteMoment = "before" | "after";

/** Calls `callback` at the given moment of the `n`-th matching write (the first is 1) and holds the write until it has run. */
export function onWrite(n: number, moment: WriteMoment, callback: () => void | Promise<void>, scope: FaultScope = {}): Fault {
  let writes = 0;
  return {
    ...scopeOf({ ...scope, write: true }),
    async intervene(request, next) {
      writes++;
      const isIt = writes === n;
      if (isIt && moment === "before") await callback();
      const response = await next(request);
      if (isIt && moment === "after") await callback();
      return response;
    },
  };
}
