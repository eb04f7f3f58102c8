// Waits until an operator has nothing to do any more.
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The last Events are written within this. */
const settleMs = 5000;
/** After work V8 gives memory back in one or two collections of its own, some eight seconds after the last one; they are the end of the work, not idleness. */
const calmMs = 15_000;

/** Resolves when nothing has been asked for for a while: all that there was to do is done. */
export async function whenDone(requests: () => number): Promise<void> {
  let before: number;
  do {
    before = requests();
    await delay(settleMs);
  } while (requests() !== before || before === 0);
}

/** Resolves when all is done, and what the work took has been given back. */
export async function whenQuiet(requests: () => number): Promise<void> {
  await whenDone(requests);
  collectGarbage();
  await delay(calmMs);
}

/** What is alive, without what nobody has collected yet. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
}
