// Loaded into an operator before its own code: writes down how much CPU time the turns of its event loop take. CPU time, because a busy machine makes every turn
// take longer by the clock, and none by this.
import { appendFileSync } from "node:fs";

const file = process.env["TURNS_FILE"];
/** Shorter turns are not worth a line. */
const leastMs = 5;

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

if (file !== undefined) {
  let before = cpuMs();
  // Timers run once in each turn: what the thread has used since is what the turn has used, and a little of the next.
  setInterval(() => {
    const turnMs = cpuMs() - before;
    if (turnMs > leastMs) appendFileSync(file, `${turnMs.toFixed(1)}\n`);
    before = cpuMs();
  }, 1).unref();
}
