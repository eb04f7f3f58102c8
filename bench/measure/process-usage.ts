// What the kernel says a process uses: the same source for every contestant, whatever its language. Linux only.
import { readFileSync } from "node:fs";

/** Memory in bytes; processor time in milliseconds since the process began, of all its threads. */
export interface Usage {
  readonly rssBytes: number;
  readonly peakRssBytes: number;
  readonly cpuMs: number;
}

/** The kernel's unit in /proc/<pid>/stat is 1/100 s on every Linux that Node and Go run on. */
const tickMs = 10;

/** Reads /proc of a running process. */
export function readUsage(pid: number): Usage {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return {
    rssBytes: sizeIn(status, "VmRSS"),
    peakRssBytes: sizeIn(status, "VmHWM"),
    cpuMs: cpuTicksIn(readFileSync(`/proc/${pid}/stat`, "utf8")) * tickMs,
  };
}

/** A field of /proc/<pid>/status that is given in kB. */
export function sizeIn(status: string, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1];
  if (!found) throw new Error(`reading the memory of a process: its status has no ${field}; the benchmark needs Linux`);
  return Number(found) * 1024;
}

/** User and system time, fields 14 and 15; the second field may itself hold spaces and brackets, so counting starts after its last one. */
export function cpuTicksIn(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}
