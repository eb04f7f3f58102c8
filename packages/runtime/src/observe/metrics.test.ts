// The registry: its names, and what the runtime's parts make of them.
import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { createMetrics, metricDocs, metricsOf } from "./metrics.ts";
import { controllerMetrics, observeCaches, observeProcess, observeWatches, requestMetrics } from "./runtime-metrics.ts";

/** The lines of one metric. */
async function linesOf(metrics: ReturnType<typeof createMetrics>, name: string): Promise<readonly string[]> {
  return (await metrics.text()).split("\n").filter((line) => line.startsWith(name));
}

describe("tables", () => {
  const table = { doors_total: { type: "counter", help: "Doors.", labels: ["house"] } } as const;

  test("that are the same share their metrics; others may not use their names", async () => {
    const metrics = createMetrics();
    metricsOf(metrics, table).doors_total.inc({ house: "a" });
    metricsOf(metrics, table).doors_total.inc({ house: "a" });
    expect(await linesOf(metrics, "doors_total{")).toEqual(['doors_total{house="a"} 2']);
    expect(() => metricsOf(metrics, { doors_total: { ...table.doors_total, type: "gauge" } })).toThrow(
      "cannot make the metric doors_total, a gauge with the labels (house): there is one of this name, a counter with the labels (house)",
    );
  });

  test("go into the registry that is given, beside what is there", async () => {
    const registry = new Registry();
    metricsOf({ registry }, table).doors_total.inc({ house: "b" });
    expect(await createMetrics({ registry }).text()).toContain('doors_total{house="b"} 1');
  });
});

describe("createMetrics", () => {
  test("has controller-runtime's names and labels, and ours beside them", () => {
    expect(metricDocs().map(({ name, type, labels }) => `${type} ${name}{${labels.join(",")}}`)).toMatchInlineSnapshot(`
      [
        "gauge controller_runtime_active_workers{controller}",
        "gauge controller_runtime_max_concurrent_reconciles{controller}",
        "counter controller_runtime_reconcile_errors_total{controller}",
        "histogram controller_runtime_reconcile_time_seconds{controller}",
        "counter controller_runtime_reconcile_total{controller,result}",
        "counter controller_runtime_terminal_reconcile_errors_total{controller}",
        "gauge leader_election_master_status{name}",
        "gauge nodejs_external_memory_bytes{}",
        "gauge nodejs_heap_size_total_bytes{}",
        "gauge nodejs_heap_size_used_bytes{}",
        "counter process_cpu_seconds_total{}",
        "counter process_cpu_system_seconds_total{}",
        "counter process_cpu_user_seconds_total{}",
        "gauge process_open_fds{}",
        "gauge process_resident_memory_bytes{}",
        "gauge process_start_time_seconds{}",
        "histogram rest_client_request_duration_seconds{verb,host}",
        "counter rest_client_requests_total{code,method,host}",
        "gauge runtime_build_info{version,revision,node}",
        "gauge runtime_cache_objects{resource,namespace,keep}",
        "gauge runtime_cache_received_bytes{resource,namespace,keep}",
        "gauge runtime_cache_unreadable_objects{resource,namespace,keep}",
        "gauge runtime_event_loop_delay_max_seconds{}",
        "gauge runtime_event_loop_delay_p99_seconds{}",
        "counter runtime_events_dropped_total{cause}",
        "counter runtime_events_recorded_total{type,reason}",
        "gauge runtime_queue_delayed_keys{controller}",
        "gauge runtime_queue_held_keys{controller}",
        "counter runtime_reconcile_abandoned_total{controller}",
        "gauge runtime_watch_quiet_seconds{resource,namespace}",
        "counter runtime_watch_requests_total{resource,verb,code}",
        "gauge runtime_watch_state{resource,namespace,state}",
        "gauge runtime_watch_synced{resource,namespace}",
        "counter workqueue_adds_total{name,controller}",
        "gauge workqueue_depth{name,controller}",
        "gauge workqueue_longest_running_processor_seconds{name,controller}",
        "histogram workqueue_queue_duration_seconds{name,controller}",
        "counter workqueue_retries_total{name,controller}",
        "gauge workqueue_unfinished_work_seconds{name,controller}",
        "histogram workqueue_work_duration_seconds{name,controller}",
      ]
    `);
  });

  test("counts controllers", async () => {
    const metrics = createMetrics();
    const observer = controllerMetrics(metrics);
    observer.registered("jwks", {
      concurrency: 16,
      activity: () => ({ ready: 4, delayed: 3, running: 2, held: 1, unfinishedMs: 1500, maxRunningMs: 1000 }),
    });
    observer.added("jwks");
    observer.retried("jwks");
    observer.started("jwks", { queuedMs: 2 });
    observer.finished("jwks", { result: "error", terminal: true, durationMs: 30 });
    observer.abandoned("jwks");
    observer.leaseChanged({ controller: "jwks", lease: "keyturn-jwks", held: true });
    const text = await metrics.text();
    for (const line of [
      'workqueue_depth{name="jwks",controller="jwks"} 4',
      'workqueue_adds_total{name="jwks",controller="jwks"} 1',
      'workqueue_retries_total{name="jwks",controller="jwks"} 1',
      'workqueue_queue_duration_seconds_bucket{le="0.01",name="jwks",controller="jwks"} 1',
      'workqueue_unfinished_work_seconds{name="jwks",controller="jwks"} 1.5',
      'controller_runtime_reconcile_total{controller="jwks",result="error"} 1',
      'controller_runtime_reconcile_total{controller="jwks",result="success"} 0',
      'controller_runtime_reconcile_errors_total{controller="jwks"} 1',
      'controller_runtime_terminal_reconcile_errors_total{controller="jwks"} 1',
      'controller_runtime_reconcile_time_seconds_sum{controller="jwks"} 0.03',
      'controller_runtime_max_concurrent_reconciles{controller="jwks"} 16',
      'controller_runtime_active_workers{controller="jwks"} 2',
      'leader_election_master_status{name="keyturn-jwks"} 1',
      'runtime_reconcile_abandoned_total{controller="jwks"} 1',
      'runtime_queue_delayed_keys{controller="jwks"} 3',
      'runtime_queue_held_keys{controller="jwks"} 1',
    ]) {
      expect(text).toContain(`${line}\n`);
    }
  });

  test("counts requests, also those without an answer", async () => {
    const metrics = createMetrics();
    const onRequest = requestMetrics(metrics, "10.0.0.1:6443");
    onRequest({ method: "GET", resource: "secrets", verb: "list", status: 200, durationMs: 12 });
    onRequest({ method: "PATCH", resource: "secrets", verb: "patch", status: undefined, durationMs: 1 });
    expect(await linesOf(metrics, "rest_client_requests_total{")).toEqual([
      'rest_client_requests_total{code="200",method="GET",host="10.0.0.1:6443"} 1',
      'rest_client_requests_total{code="<error>",method="PATCH",host="10.0.0.1:6443"} 1',
    ]);
    expect(await linesOf(metrics, "runtime_watch_requests_total{")).toEqual([
      'runtime_watch_requests_total{resource="secrets",verb="list",code="200"} 1',
    ]);
  });

  test("shows watches and caches as they are at each scrape, and forgets those that are gone", async () => {
    const metrics = createMetrics();
    let type: "live" | "syncing" = "syncing";
    observeWatches(metrics, () => [
      { resource: "secrets", namespace: undefined, state: { type }, synced: type === "live", objects: 1, quietForMs: 2500 },
    ]);
    observeCaches(metrics, () => [
      { resource: "secrets", namespace: undefined, keep: "digest", objects: 2, unreadable: 1, receivedBytes: 100 },
      { resource: "secrets", namespace: undefined, keep: "digest", objects: 3, unreadable: 0, receivedBytes: 10 },
    ]);
    expect(await linesOf(metrics, "runtime_watch_state{")).toEqual(['runtime_watch_state{resource="secrets",namespace="",state="syncing"} 1']);
    type = "live";
    expect(await linesOf(metrics, "runtime_watch_state{")).toEqual(['runtime_watch_state{resource="secrets",namespace="",state="live"} 1']);
    expect(await linesOf(metrics, "runtime_watch_quiet_seconds{")).toEqual(['runtime_watch_quiet_seconds{resource="secrets",namespace=""} 2.5']);
    expect(await linesOf(metrics, "runtime_cache_objects{")).toEqual(['runtime_cache_objects{resource="secrets",namespace="",keep="digest"} 5']);
    expect(await linesOf(metrics, "runtime_cache_unreadable_objects{")).toEqual([
      'runtime_cache_unreadable_objects{resource="secrets",namespace="",keep="digest"} 1',
    ]);
  });

  test("describes the process", async () => {
    const metrics = createMetrics();
    const stop = observeProcess(metrics, { version: "1.2.3" });
    const text = await metrics.text();
    stop();
    expect(text).toContain(`runtime_build_info{version="1.2.3",revision="unknown",node="${process.version}"} 1`);
    expect(Number(/^process_resident_memory_bytes (\d+)/m.exec(text)?.[1])).toBeGreaterThan(1e6);
    expect(text).toMatch(/^runtime_event_loop_delay_max_seconds \d/m);
  });

  test("two managers in one process do not share numbers", async () => {
    const [one, other] = [createMetrics(), createMetrics()];
    one.of.runtime_events_dropped_total.inc({ cause: "rate" });
    expect(await linesOf(other, "runtime_events_dropped_total{")).toEqual([]);
  });
});
