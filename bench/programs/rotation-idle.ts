// The rotation controller over the sets of one namespace: works until all is done and, unless it was started to "fill" alone, says what it then costs to have nothing to do.
import { setTimeout as delay } from "node:timers/promises";
import { endWithInput, report } from "./contestant-line.ts";
import { whenDone, whenQuiet } from "./quiet.ts";
import { runRotation } from "./rotation-sets.ts";

const [namespace = "", purpose] = process.argv.slice(2);
const windowMs = 10_000;

endWithInput();
let requests = 0;
void (purpose === "fill" ? whenDone(() => requests).then(() => report({ type: "filled" })) : watch());
await runRotation({ namespace, onRequest: () => (requests += 1) });

/** Waits until nothing is asked for any more, then watches itself do nothing. */
async function watch(): Promise<void> {
  await whenQuiet(() => requests);
  report({ type: "idle", heapBytes: process.memoryUsage().heapUsed });
  const startedCpu = process.cpuUsage();
  const startedRequests = requests;
  await delay(windowMs);
  const { user, system } = process.cpuUsage(startedCpu);
  report({ type: "watched", requests: requests - startedRequests, corePercent: (user + system) / 10 / windowMs });
}
