// Metrics as declared tables, on prom-client: the registry and the reference are both made from them.
import { Counter, Gauge, Histogram, type Metric, Registry } from "prom-client";

/** What a metric is. */
export interface MetricRow {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

/** client-go's for queues: 10 ns times ten, twelve times. https://github.com/kubernetes-sigs/controller-runtime/blob/v0.22.0/pkg/internal/metrics/workqueue.go */
const queueBuckets = Array.from({ length: 12 }, (_, power) => Number((1e-8 * 10 ** power).toPrecision(1)));
/** controller-runtime's for reconciles: https://github.com/kubernetes-sigs/controller-runtime/blob/v0.22.0/pkg/internal/controller/metrics/metrics.go */
const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7,
  8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
/** component-base's for API requests: https://github.com/kubernetes/kubernetes/blob/v1.36.0/staging/src/k8s.io/component-base/metrics/prometheus/restclient/metrics.go */
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

const queue = ["name", "controller"] as const;
const controller = ["controller"] as const;
const watch = ["resource", "namespace"] as const;
const cache = ["resource", "namespace", "keep"] as const;

/** The table. Names of controller-runtime mean what they mean there, so that existing dashboards and alerts work. */
const metricTable = {
  workqueue_depth: { type: "gauge", help: "Keys that are ready to be reconciled.", labels: queue },
  workqueue_adds_total: { type: "counter", help: "Keys that became ready to be reconciled.", labels: queue },
  workqueue_queue_duration_seconds: {
    type: "histogram",
    help: "How long a key was ready before its reconcile started.",
    labels: queue,
    buckets: queueBuckets,
  },
  workqueue_work_duration_seconds: { type: "histogram", help: "How long a key was worked on.", labels: queue, buckets: queueBuckets },
  workqueue_unfinished_work_seconds: { type: "gauge", help: "The sum of the ages of all reconciles that are under way.", labels: queue },
  workqueue_longest_running_processor_seconds: { type: "gauge", help: "The age of the oldest reconcile that is under way.", labels: queue },
  workqueue_retries_total: { type: "counter", help: "Keys that were given another try after a failure.", labels: queue },

  controller_runtime_reconcile_total: {
    type: "counter",
    help: "Reconciles by result: success, requeue_after, waiting, error or aborted.",
    labels: ["controller", "result"],
  },
  controller_runtime_reconcile_errors_total: { type: "counter", help: "Reconciles that failed.", labels: controller },
  controller_runtime_terminal_reconcile_errors_total: {
    type: "counter",
    help: "Reconciles that were refused, as a whole or in part: somebody has to change something. They are tried again with a long backoff.",
    labels: controller,
  },
  controller_runtime_reconcile_time_seconds: { type: "histogram", help: "How long a reconcile took.", labels: controller, buckets: reconcileBuckets },
  controller_runtime_max_concurrent_reconciles: { type: "gauge", help: "The most reconciles that may run at the same time.", labels: controller },
  controller_runtime_active_workers: { type: "gauge", help: "Reconciles that are under way.", labels: controller },

  rest_client_requests_total: {
    type: "counter",
    help: "Requests to the API server by status code, method and host; the code is <error> if there was no answer.",
    labels: ["code", "method", "host"],
  },
  rest_client_request_duration_seconds: {
    type: "histogram",
    help: "From sending a request to the response's headers, by verb and host.",
    labels: ["verb", "host"],
    buckets: requestBuckets,
  },
  leader_election_master_status: { type: "gauge", help: "1 while this process holds the lease, else 0.", labels: ["name"] },

  runtime_queue_delayed_keys: { type: "gauge", help: "Keys that wait for their time.", labels: controller },
  runtime_queue_held_keys: {
    type: "gauge",
    help: "Keys that may not run yet: their last write is not in the cache, or an abandoned run still goes on.",
    labels: controller,
  },
  runtime_reconcile_abandoned_total: {
    type: "counter",
    help: "Reconciles that ignored their deadline; their key is held until they end.",
    labels: controller,
  },
  runtime_watch_state: {
    type: "gauge",
    help: "1 for the state a watch is in: idle, syncing, live, retrying, missing or forbidden.",
    labels: [...watch, "state"],
  },
  runtime_watch_synced: { type: "gauge", help: "1 once the first list is complete.", labels: watch },
  runtime_watch_quiet_seconds: { type: "gauge", help: "Since the last byte from the API server on a watch.", labels: watch },
  runtime_watch_requests_total: {
    type: "counter",
    help: "Lists and watches that were opened, by status code; the code is <error> if there was no answer. A watch that is opened often is one that breaks often.",
    labels: ["resource", "verb", "code"],
  },
  runtime_cache_objects: { type: "gauge", help: "Objects in a cache; two ways to keep one kind are two caches.", labels: cache },
  runtime_cache_unreadable_objects: { type: "gauge", help: "Objects that exist and that a cache cannot read: its keep throws.", labels: cache },
  runtime_cache_received_bytes: { type: "gauge", help: "What a cache has read from the API server since the start, before keep.", labels: cache },
  runtime_events_recorded_total: { type: "counter", help: "Events written, new or repeated.", labels: ["type", "reason"] },
  runtime_events_dropped_total: {
    type: "counter",
    help: "Events not written, by cause: rate (too many about one object), queue (too many in all), refused, unreachable or closed (at shutdown).",
    labels: ["cause"],
  },
  runtime_event_loop_delay_p99_seconds: { type: "gauge", help: "How late the event loop ran since the last scrape, 99th percentile.", labels: [] },
  runtime_event_loop_delay_max_seconds: { type: "gauge", help: "How late the event loop ran at worst since the last scrape.", labels: [] },
  runtime_build_info: { type: "gauge", help: "Always 1; the labels say what is running.", labels: ["version", "revision", "node"] },

  process_cpu_user_seconds_total: { type: "counter", help: "Processor time spent in this process.", labels: [] },
  process_cpu_system_seconds_total: { type: "counter", help: "Processor time spent in the kernel for this process.", labels: [] },
  process_cpu_seconds_total: { type: "counter", help: "Processor time of this process in all.", labels: [] },
  process_start_time_seconds: { type: "gauge", help: "When this process started, in seconds since the epoch.", labels: [] },
  process_resident_memory_bytes: { type: "gauge", help: "Memory that this process holds.", labels: [] },
  process_open_fds: { type: "gauge", help: "File descriptors that are open.", labels: [] },
  nodejs_heap_size_used_bytes: { type: "gauge", help: "Memory that JavaScript objects use.", labels: [] },
  nodejs_heap_size_total_bytes: { type: "gauge", help: "Memory set aside for JavaScript objects.", labels: [] },
  nodejs_external_memory_bytes: { type: "gauge", help: "Memory of buffers and other objects outside of the JavaScript heap.", labels: [] },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** A metric as the reference lists it. */
interface MetricDoc extends MetricRow {
  readonly name: string;
}

/** All metrics of the runtime, sorted by name. */
export function metricDocs(): readonly MetricDoc[] {
  const rows = Object.entries<MetricRow>(metricTable).map(([name, row]): MetricDoc => Object.assign({ name }, row));
  return rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Where metrics are collected. There is no global registry; bring your own to have them beside others of your process. */
export interface Metrics {
  readonly registry: Registry;
}

/** A metric without labels is called without them; one with labels is given all of them. */
type Arguments<Label extends string, Rest extends readonly unknown[]> = [Label] extends [never]
  ? Rest
  : [labels: Readonly<Record<Label, string>>, ...rest: Rest];

/** Counts up. */
interface CounterOf<Label extends string> {
  /** By default by 1. */
  inc(...by: Arguments<Label, [value?: number]>): void;
}

/** Shows what is. */
interface GaugeOf<Label extends string> {
  set(...to: Arguments<Label, [value: number]>): void;
  /** By default by 1. */
  inc(...by: Arguments<Label, [value?: number]>): void;
  /** Forgets one series; it is not shown until it is set again. */
  remove(...of: Arguments<Label, []>): void;
  /** Forgets every series; a gauge without labels is 0 again. */
  reset(): void;
}

/** Counts values by size. */
interface HistogramOf<Label extends string> {
  observe(...what: Arguments<Label, [value: number]>): void;
}

/** What becomes of one row of the table; labels are checked by the compiler. */
type MetricOf<Row extends MetricRow> = Row["type"] extends "counter"
  ? CounterOf<Row["labels"][number]>
  : Row["type"] extends "gauge"
    ? GaugeOf<Row["labels"][number]>
    : HistogramOf<Row["labels"][number]>;

/** The metrics of a table, by name. */
export type MetricsOf<Table extends Readonly<Record<string, MetricRow>>> = { readonly [Name in keyof Table]: MetricOf<Table[Name]> };

/** Every metric of the table, ready to be counted with, and a way to be asked before each scrape. */
export interface RuntimeMetrics extends Metrics {
  readonly of: MetricsOf<typeof metricTable>;
  /** Calls `collect` before each scrape, to set gauges that are cheaper to read then than to keep up to date. */
  beforeScrape(collect: () => void): void;
  /** The registry in Prometheus' text format. */
  text(this: void): Promise<string>;
}

/** All metrics of the table, in a registry of their own or in one that is given. Nothing runs between scrapes. */
export function createMetrics({ registry = new Registry() }: Partial<Metrics> = {}): RuntimeMetrics {
  const collectors: (() => void)[] = [];
  return {
    registry,
    of: metricsOf({ registry }, metricTable),
    beforeScrape: (collect) => void collectors.push(collect),
    text() {
      for (const collect of collectors) collect();
      return registry.metrics();
    },
  };
}

/** The metrics of a controller's own table, typed by it. Controllers that share a table share the metrics. Throws if a name is taken by a metric of another shape. */
export function metricsOf<const Table extends Readonly<Record<string, MetricRow>>>({ registry }: Metrics, table: Table): MetricsOf<Table> {
  const metrics = Object.entries<MetricRow>(table).map(([name, row]) => [name, metricIn(registry, name, row)]);
  // The table decides which class each name gets, and what it is called with is what prom-client takes.
  return Object.fromEntries(metrics) as MetricsOf<Table>;
}

/** What each metric was made from: prom-client does not say it to whoever asks for a name that is taken. */
const shapes = new WeakMap<Metric, string>();

function metricIn(registry: Registry, name: string, row: MetricRow): Metric {
  const known = registry.getSingleMetric(name);
  const shape = `${row.type} with the labels (${row.labels.join(", ")})${row.buckets ? ` and the buckets ${row.buckets.join(", ")}` : ""}`;
  if (known) {
    if (shapes.get(known) === shape) return known;
    throw new Error(`cannot make the metric ${name}, a ${shape}: there is one of this name, a ${shapes.get(known) ?? "foreign one"}`);
  }
  const metric = createMetric(registry, name, row);
  shapes.set(metric, shape);
  return metric;
}

function createMetric(registry: Registry, name: string, { type, help, labels: labelNames, buckets = [] }: MetricRow): Metric {
  const configuration = { name, help, labelNames, registers: [registry] };
  if (type === "counter") return new Counter(configuration);
  return type === "gauge" ? new Gauge(configuration) : new Histogram({ ...configuration, buckets: [...buckets] });
}
