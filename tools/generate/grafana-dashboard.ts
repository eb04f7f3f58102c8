// The Grafana dashboard of the chart: one row per step, and one for the runtime, all from the metrics that the program has.
import type { Feature, Panel } from "../../packages/keyturn/src/feature/feature.ts";

/** A row of panels. `$instance` is a variable of the dashboard. */
interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const overview: Row = {
  title: "Overview",
  panels: [
    { title: "Processes", type: "stat", lines: [['count(runtime_build_info{instance=~"$instance"})', ""]] },
    { title: "Versions", type: "stat", lines: [["count by (version) (runtime_build_info)", "{{version}}"]] },
    { title: "Who leads", lines: [["leader_election_master_status and on (instance) runtime_build_info", "{{name}} {{pod}}"]] },
    { title: "Watches that are not live", lines: [['sum by (resource, state) (runtime_watch_state{state!~"live|idle"})', "{{resource}} {{state}}"]] },
  ],
};

const runtime: Row = {
  title: "Runtime",
  panels: [
    {
      title: "Passes",
      unit: "ops",
      lines: [
        [
          'sum by (controller, result) (rate(controller_runtime_reconcile_total{instance=~"$instance"}[$__rate_interval]))',
          "{{controller}} {{result}}",
        ],
      ],
    },
    {
      title: "Passes: 99th percentile",
      unit: "s",
      lines: [
        [
          'histogram_quantile(0.99, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{instance=~"$instance"}[$__rate_interval])))',
          "{{controller}}",
        ],
      ],
    },
    { title: "Ready to run", lines: [['sum by (controller) (workqueue_depth{instance=~"$instance"})', "{{controller}}"]] },
    {
      title: "Requests to the API server",
      unit: "ops",
      lines: [['sum by (method, code) (rate(rest_client_requests_total{instance=~"$instance"}[$__rate_interval]))', "{{method}} {{code}}"]],
    },
    { title: "Silence of watches", unit: "s", lines: [['max by (resource) (runtime_watch_quiet_seconds{instance=~"$instance"})', "{{resource}}"]] },
    { title: "Objects in caches", lines: [['sum by (resource) (runtime_cache_objects{instance=~"$instance"})', "{{resource}}"]] },
    { title: "Memory", unit: "bytes", lines: [['process_resident_memory_bytes{instance=~"$instance"}', "{{instance}}"]] },
    {
      title: "Processor",
      unit: "percentunit",
      lines: [['rate(process_cpu_seconds_total{instance=~"$instance"}[$__rate_interval])', "{{instance}}"]],
    },
    { title: "Event loop: 99th percentile", unit: "s", lines: [['runtime_event_loop_delay_p99_seconds{instance=~"$instance"}', "{{instance}}"]] },
  ],
};

/** In the order of the stages, between what concerns all of them. */
function rowsOf(registry: readonly Feature[]): readonly Row[] {
  const stages = registry.map(({ name, stage: { verb }, panels }) => ({
    title: `${verb.charAt(0).toUpperCase()}${verb.slice(1)} (${name})`,
    panels,
  }));
  return [overview, ...stages.filter(({ panels }) => panels.length > 0), runtime];
}

/** Every expression of the dashboard with the words that name its lines, for the check that their metrics and labels exist. */
export function dashboardLines(registry: readonly Feature[]): Panel["lines"] {
  return rowsOf(registry).flatMap(({ panels }) => panels.flatMap(({ lines }) => lines));
}

/** Four panels stand side by side in Grafana's 24 columns. */
const width = 6;
const height = 7;
const datasource = { type: "prometheus", uid: "${datasource}" };

/** The dashboard as JSON text. */
export function grafanaDashboard(registry: readonly Feature[]): string {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: members } of rowsOf(registry)) {
    panels.push({ id: panels.length + 1, type: "row", title, collapsed: false, gridPos: { x: 0, y, w: 24, h: 1 }, panels: [] });
    y += 1;
    for (const [index, panel] of members.entries()) {
      const gridPos = { x: (index % 4) * width, y: y + Math.floor(index / 4) * height, w: width, h: height };
      panels.push({ id: panels.length + 1, ...panelOf(panel), gridPos });
    }
    y += Math.ceil(members.length / 4) * height;
  }
  const dashboard = {
    uid: "keyturn",
    title: "Keyturn",
    description: "The life of credentials: issue, rotate, publish, verify, roll out.",
    tags: ["keyturn"],
    schemaVersion: 39,
    editable: true,
    refresh: "1m",
    time: { from: "now-6h", to: "now" },
    templating: { list: variables },
    panels,
  };
  return `${JSON.stringify(dashboard, undefined, 2)}\n`;
}

const variables = [
  { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
  {
    name: "instance",
    label: "Process",
    type: "query",
    datasource,
    query: { query: "label_values(runtime_build_info, instance)", refId: "instance" },
    refresh: 2,
    includeAll: true,
    multi: true,
    current: { text: "All", value: "$__all" },
  },
];

function panelOf({ title, unit = "short", type = "timeseries", lines }: Panel): object {
  return {
    type,
    title,
    datasource,
    fieldConfig: { defaults: { unit, ...(type === "timeseries" && { min: 0 }) }, overrides: [] },
    ...(type !== "table" && { options: { ...(type === "timeseries" && { legend: { displayMode: "list", placement: "bottom" } }) } }),
    targets: lines.map(([expr, legendFormat], index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource,
      expr,
      ...(legendFormat === "" ? {} : { legendFormat }),
      ...(type === "timeseries" ? { range: true } : { instant: true, ...(type === "table" && { format: "table" }) }),
    })),
  };
}
