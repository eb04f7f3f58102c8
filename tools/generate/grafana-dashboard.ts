// The Grafana dashboard of the chart: one row per step, and one for the runtime, all from the metrics that the program has.

/** A panel: its title, what its numbers are, and the expressions, each with the words that name its lines. */
interface Panel {
  readonly title: string;
  readonly unit?: "s" | "bytes" | "percentunit" | "ops" | "dateTimeFromNow" | "short";
  readonly type?: "timeseries" | "stat" | "table";
  readonly lines: readonly (readonly [expression: string, legend: string])[];
}

/** Rows of panels by title. `$instance` is a variable of the dashboard. */
const rows: Readonly<Record<string, readonly Panel[]>> = {
  Overview: [
    { title: "Processes", type: "stat", lines: [['count(runtime_build_info{instance=~"$instance"})', ""]] },
    { title: "Versions", type: "stat", lines: [["count by (version) (runtime_build_info)", "{{version}}"]] },
    { title: "Who leads", lines: [["leader_election_master_status and on (instance) runtime_build_info", "{{name}} {{pod}}"]] },
    { title: "Watches that are not live", lines: [['sum by (resource, state) (runtime_watch_state{state!~"live|idle"})', "{{resource}} {{state}}"]] },
  ],
  "Issue (eventing-auth)": [
    {
      title: "Runtimes without credentials",
      type: "stat",
      lines: [["count(max by (namespace, name) (keyturn_eventing_auth_ready) == 0) or vector(0)", ""]],
    },
    { title: "Secrets issued", unit: "ops", lines: [["sum by (why) (rate(keyturn_eventing_auth_issued_total[$__rate_interval]))", "{{why}}"]] },
    {
      title: "Identity provider: requests",
      unit: "ops",
      lines: [["sum by (step, code) (rate(keyturn_eventing_auth_identity_requests_total[$__rate_interval]))", "{{step}} {{code}}"]],
    },
    {
      title: "Identity provider: 95th percentile",
      unit: "s",
      lines: [
        [
          "histogram_quantile(0.95, sum by (step, le) (rate(keyturn_eventing_auth_identity_request_duration_seconds_bucket[$__rate_interval])))",
          "{{step}}",
        ],
      ],
    },
    {
      title: "Clusters without an answer",
      type: "stat",
      lines: [["count(max by (namespace, name) (keyturn_eventing_auth_target_reachable) == 0) or vector(0)", ""]],
    },
  ],
  "Rotate (rotation)": [
    { title: "Steps", unit: "ops", lines: [["sum by (namespace) (rate(keyturn_rotation_steps_total[$__rate_interval]))", "{{namespace}}"]] },
    { title: "Repairs", unit: "ops", lines: [["sum by (namespace) (rate(keyturn_rotation_repairs_total[$__rate_interval]))", "{{namespace}}"]] },
    { title: "Sets that stand still", lines: [["count by (reason) (keyturn_rotation_standstill)", "{{reason}}"]] },
    { title: "Next step", type: "stat", unit: "dateTimeFromNow", lines: [["max(keyturn_rotation_next_due_timestamp_seconds > 0) * 1000", ""]] },
  ],
  "Publish (jwks)": [
    { title: "Published keys", lines: [["sum by (state) (keyturn_jwks_keys)", "{{state}}"]] },
    {
      title: "Certificates that expire first",
      type: "table",
      unit: "dateTimeFromNow",
      lines: [["bottomk(10, max by (kind, namespace, name) (keyturn_jwks_certificate_expiry_timestamp_seconds)) * 1000", ""]],
    },
  ],
  "Verify (checksum and agents)": [
    { title: "Objects in checksums", lines: [["max by (kind, namespace) (keyturn_checksum_objects)", "{{kind}} {{namespace}}"]] },
    {
      title: "Objects with a problem",
      lines: [["max by (kind, namespace, reason) (keyturn_checksum_problem_objects)", "{{kind}} {{namespace}} {{reason}}"]],
    },
    { title: "Checksums published", unit: "ops", lines: [["sum by (kind) (rate(keyturn_checksum_published_total[$__rate_interval]))", "{{kind}}"]] },
    { title: "Agents: unverified for", unit: "s", lines: [["keyturn_agent_staleness_seconds", "{{namespace}} {{instance}}"]] },
    { title: "Agents: alarms", lines: [["keyturn_agent_alarm == 1", "{{namespace}} {{alarm}} {{instance}}"]] },
    { title: "Agents: differences", lines: [["sum by (namespace, direction) (keyturn_agent_differences)", "{{namespace}} {{direction}}"]] },
  ],
  "Roll out (sidecars)": [
    {
      title: "Workloads",
      lines: [
        ["sum(keyturn_sidecars_outdated_workloads)", "outdated"],
        ["sum(keyturn_sidecars_waiting_workloads)", "waiting"],
        ["sum(keyturn_sidecars_rolling_workloads)", "rolling"],
        ["sum(keyturn_sidecars_stuck_rollouts)", "stuck"],
        ["sum(keyturn_sidecars_unknown_workloads)", "unknown"],
      ],
    },
    { title: "Restarts", unit: "ops", lines: [["sum by (reason) (rate(keyturn_sidecars_restarts_total[$__rate_interval]))", "{{reason}}"]] },
    {
      title: "Injection webhooks: 95th percentile",
      unit: "s",
      lines: [
        ["histogram_quantile(0.95, sum by (webhook, le) (rate(keyturn_sidecars_webhook_duration_seconds_bucket[$__rate_interval])))", "{{webhook}}"],
      ],
    },
  ],
  Runtime: [
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

/** Every expression of the dashboard with the words that name its lines, for the check that their metrics and labels exist. */
export function dashboardLines(): Panel["lines"] {
  return Object.values(rows).flatMap((panels) => panels.flatMap(({ lines }) => lines));
}

/** Four panels stand side by side in Grafana's 24 columns. */
const width = 6;
const height = 7;
const datasource = { type: "prometheus", uid: "${datasource}" };

/** The dashboard as JSON text. */
export function grafanaDashboard(): string {
  const panels: object[] = [];
  let y = 0;
  for (const [title, members] of Object.entries(rows)) {
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
