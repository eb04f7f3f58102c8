// Turns what the runtime's parts report of their work into metrics, and reads those of the process itself.
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { WatchStatus } from "../cache/caches.ts";
import type { RequestObservation } from "../client/observed-transport.ts";
import type { Activity, ControllerObserver } from "../controller/controller.ts";
import type { RuntimeMetrics } from "./metrics.ts";

/** Counts what controllers and their queues do. */
export function controllerMetrics(metrics: RuntimeMetrics): ControllerObserver {
  const { of } = metrics;
  const activities = new Map<string, () => Activity>();
  metrics.beforeScrape(() => {
    for (const [controller, activity] of activities) setActivity(metrics, controller, activity());
  });
  return {
    registered(controller, info) {
      activities.set(controller, () => info.activity());
      of.controller_runtime_max_concurrent_reconciles.set({ controller }, info.concurrency);
      // Series that start at zero, so that the first failure is a rise and alerts see it.
      for (const result of ["success", "requeue_after", "waiting", "error", "aborted"])
        of.controller_runtime_reconcile_total.inc({ controller, result }, 0);
      of.controller_runtime_reconcile_errors_total.inc({ controller }, 0);
      of.controller_runtime_terminal_reconcile_errors_total.inc({ controller }, 0);
      of.workqueue_adds_total.inc({ name: controller, controller }, 0);
      of.workqueue_retries_total.inc({ name: controller, controller }, 0);
    },
    added: (controller) => of.workqueue_adds_total.inc({ name: controller, controller }),
    retried: (controller) => of.workqueue_retries_total.inc({ name: controller, controller }),
    started: (controller, { queuedMs }) => of.workqueue_queue_duration_seconds.observe({ name: controller, controller }, queuedMs / 1000),
    finished(controller, { result, terminal, durationMs }) {
      of.controller_runtime_reconcile_total.inc({ controller, result });
      if (result === "error") of.controller_runtime_reconcile_errors_total.inc({ controller });
      if (terminal) of.controller_runtime_terminal_reconcile_errors_total.inc({ controller });
      of.controller_runtime_reconcile_time_seconds.observe({ controller }, durationMs / 1000);
      of.workqueue_work_duration_seconds.observe({ name: controller, controller }, durationMs / 1000);
    },
    abandoned: (controller) => of.runtime_reconcile_abandoned_total.inc({ controller }),
    leaseChanged: ({ lease, held }) => of.leader_election_master_status.set({ name: lease }, held ? 1 : 0),
  };
}

function setActivity({ of }: RuntimeMetrics, controller: string, activity: Activity): void {
  const queue = { name: controller, controller };
  of.workqueue_depth.set(queue, activity.ready);
  of.workqueue_unfinished_work_seconds.set(queue, activity.unfinishedMs / 1000);
  of.workqueue_longest_running_processor_seconds.set(queue, activity.maxRunningMs / 1000);
  of.controller_runtime_active_workers.set({ controller }, activity.running);
  of.runtime_queue_delayed_keys.set({ controller }, activity.delayed);
  of.runtime_queue_held_keys.set({ controller }, activity.held);
}

/** Counts requests to the API server at `host`, and among them each opening of a list or watch. */
export function requestMetrics({ of }: RuntimeMetrics, host: string): (observation: RequestObservation) => void {
  return ({ method, resource, verb, status, durationMs }) => {
    const code = status === undefined ? "<error>" : String(status);
    of.rest_client_requests_total.inc({ code, method, host });
    of.rest_client_request_duration_seconds.observe({ verb, host }, durationMs / 1000);
    if (verb === "list" || verb === "watch") of.runtime_watch_requests_total.inc({ resource, verb, code });
  };
}

/** A cache and what it holds. */
interface CacheStatistics {
  /** `plural.group`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  /** How objects are kept: `whole`, `metadata`, or the name of the function. */
  readonly keep: string;
  readonly objects: number;
  /** Objects that cannot be read. */
  readonly unreadable: number;
  /** Read from the server since the start. */
  readonly receivedBytes: number;
}

/** Shows watches at each scrape: their state, how long they have been quiet, and whether they are synced. */
export function observeWatches(metrics: RuntimeMetrics, statuses: () => readonly WatchStatus[]): void {
  const { of } = metrics;
  metrics.beforeScrape(() => {
    of.runtime_watch_state.reset();
    of.runtime_watch_synced.reset();
    of.runtime_watch_quiet_seconds.reset();
    for (const { resource, namespace = "", state, synced, quietForMs } of statuses()) {
      of.runtime_watch_state.set({ resource, namespace, state: state.type }, 1);
      of.runtime_watch_synced.set({ resource, namespace }, synced ? 1 : 0);
      of.runtime_watch_quiet_seconds.set({ resource, namespace }, quietForMs / 1000);
    }
  });
}

/** Shows at each scrape what caches hold. Caches with the same labels are added up. */
export function observeCaches(metrics: RuntimeMetrics, statistics: () => readonly CacheStatistics[]): void {
  const { of } = metrics;
  metrics.beforeScrape(() => {
    of.runtime_cache_objects.reset();
    of.runtime_cache_unreadable_objects.reset();
    of.runtime_cache_received_bytes.reset();
    for (const { resource, namespace = "", keep, objects, unreadable, receivedBytes } of statistics()) {
      of.runtime_cache_unreadable_objects.inc({ resource, namespace, keep }, unreadable);
      of.runtime_cache_objects.inc({ resource, namespace, keep }, objects);
      of.runtime_cache_received_bytes.inc({ resource, namespace, keep }, receivedBytes);
    }
  });
}

// Metrics of the process itself, read when they are asked for.

/** What is running. */
interface BuildInfo {
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

/** Known on Linux only. */
function openFiles(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
}
