// The rotation controller over the sets of one namespace: works until it has gone quiet, and then says what it costs to have nothing to do.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { endWithInput, report } from "./contestant-line.ts";
import { runRotation } from "./rotation-sets.ts";

const [namespace = ""] = process.argv.slice(2);
/** The last Events are written within this. */
const settleMs = 5000;
/** After work V8 gives memory back in one or two collections of its own, some eight seconds after the last one; they are the end of the work, not idleness. */
const calmMs = 15_000;
const windowMs = 10_000;

endWithInput();
let requests = 0;
settle();
await runRotation({ namespace, onRequest: () => (requests += 1) });

/** Waits until nothing is asked for any more, then watches itself do nothing. */
function settle(): void {
  const before = requests;
  setTimeout(() => {
    if (requests !== before) return settle();
    collectGarbage();
    setTimeout(watch, calmMs);
  }, settleMs);
}

function watch(): void {
  report({ type: "idle", heapBytes: process.memoryUsage().heapUsed });
  const startedCpu = process.cpuUsage();
  const startedRequests = requests;
  setTimeout(() => {
    const { user, system } = process.cpuUsage(startedCpu);
    report({ type: "watched", requests: requests - startedRequests, corePercent: (user + system) / 10 / windowMs });
  }, windowMs);
}

/** What is alive, without what nobody has collected yet. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
}
