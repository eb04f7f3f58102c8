// Whether a process still runs.
import { readFileSync } from "node:fs";

/** True while the process does anything. A zombie, which is dead and only waits for its parent to notice, does not count: some first processes never do. */
export function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  return !isZombie(pid);
}

function isZombie(pid: number): boolean {
  try {
    return /\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    // No /proc, as on macOS, whose first process does reap orphans.
    return false;
  }
}
