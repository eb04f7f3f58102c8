// Metrics of the process itself, read when they are asked for.
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { RuntimeMetrics } from "./metrics.ts";

/** What is running. */
export interface BuildInfo {
  readonly version: string;
  /** The commit it was built from. Default `unknown`. */
  readonly revision?: string;
}

/** How often the event loop is looked at: 50 times a second costs about two thousandths of a core (measured), and no delay above 20 ms goes unseen. */
const lookEveryMs = 20;
const nanosecondsPerSecond = 1e9;

/** Fills the process and event loop metrics at each scrape. Returns the way to stop looking at the event loop. */
export function observeProcess(metrics: RuntimeMetrics, build: BuildInfo): () => void {
  const { of } = metrics;
  of.runtime_build_info.set({ version: build.version, revision: build.revision ?? "unknown", node: process.version }, 1);
  of.process_start_time_seconds.set(Math.round(performance.timeOrigin / 1000));
  const delays = monitorEventLoopDelay({ resolution: lookEveryMs });
  delays.enable();
  let counted = { user: 0, system: 0 };
  metrics.beforeScrape(() => {
    const cpu = process.cpuUsage();
    const user = (cpu.user - counted.user) / 1e6;
    const system = (cpu.system - counted.system) / 1e6;
    counted = cpu;
    of.process_cpu_user_seconds_total.inc(user);
    of.process_cpu_system_seconds_total.inc(system);
    of.process_cpu_seconds_total.inc(user + system);
    const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
    of.process_resident_memory_bytes.set(rss);
    of.nodejs_heap_size_used_bytes.set(heapUsed);
    of.nodejs_heap_size_total_bytes.set(heapTotal);
    of.nodejs_external_memory_bytes.set(external);
    const open = openFiles();
    if (open !== undefined) of.process_open_fds.set(open);
    // The histogram holds the time between two looks, which is the interval itself when nothing is late.
    const late = (nanoseconds: number): number => Math.max(0, nanoseconds / nanosecondsPerSecond - lookEveryMs / 1000);
    of.runtime_event_loop_delay_p99_seconds.set(delays.count > 0 ? late(delays.percentile(99)) : 0);
    of.runtime_event_loop_delay_max_seconds.set(delays.count > 0 ? late(delays.max) : 0);
    delays.reset();
  });
  return () => void delays.disable();
}

/** Only Linux tells. */
function openFiles(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
}
