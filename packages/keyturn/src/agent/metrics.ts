// The agent in numbers.
import { type Metrics, metricsOf, type MetricRow, type RuntimeMetrics } from "@keyturn/runtime";
import type { AgentStatus, Attempt } from "./agent-status.ts";
import { alarmNames } from "./situations.ts";

export const agentMetrics = {
  keyturn_agent_secrets: { type: "gauge", help: "Secrets: promoted (served), live (in the namespace and counted) or left_out.", labels: ["set"] },
  keyturn_agent_differences: {
    type: "gauge",
    help: "Secrets that differ from the newest checksum: missing, unexpected or changed.",
    labels: ["direction"],
  },
  keyturn_agent_verified: { type: "gauge", help: "1 while what is served is what the newest matching checksum says.", labels: [] },
  keyturn_agent_staleness_seconds: {
    type: "gauge",
    help: "Since what is served was last known to be what should be; 0 while it is, -1 if it never was.",
    labels: [],
  },
  keyturn_agent_alarm: { type: "gauge", help: "1 for an alarm that is raised.", labels: ["alarm"] },
  keyturn_agent_promoted_timestamp_seconds: { type: "gauge", help: "When what is served was promoted, in seconds since the epoch.", labels: [] },
  keyturn_agent_promotions_total: { type: "counter", help: "Promotions by result: success or error.", labels: ["result"] },
  keyturn_agent_promotion_seconds: { type: "gauge", help: "How long the last promotion took.", labels: [] },
  keyturn_agent_commands_total: { type: "counter", help: "Commands run, or signals sent, after a promotion, by result.", labels: ["result"] },
  keyturn_agent_command_seconds: { type: "gauge", help: "How long the last command took.", labels: [] },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Shows how long ago what is served was verified, at each scrape. */
export function showStaleness(metrics: RuntimeMetrics, stalenessMs: () => number | undefined): void {
  const { keyturn_agent_staleness_seconds: staleness } = metricsOf(metrics, agentMetrics);
  metrics.beforeScrape(() => {
    const ms = stalenessMs();
    staleness.set(ms === undefined ? -1 : ms / 1000);
  });
}

/** Keeps the other numbers up to date with each status. */
export function agentNumbers(metrics: Metrics): (status: AgentStatus) => void {
  const of = metricsOf(metrics, agentMetrics);
  // Series that start at zero, so that the first failure is a rise and alerts see it.
  for (const result of ["success", "error"]) {
    of.keyturn_agent_promotions_total.inc({ result }, 0);
    of.keyturn_agent_commands_total.inc({ result }, 0);
  }
  let seen: { promotion?: Attempt | undefined; command?: Attempt | undefined } = {};
  return (status) => {
    const { secrets, differenceCounts, alarms, promotedAt, promotion, command } = status;
    of.keyturn_agent_secrets.set({ set: "promoted" }, secrets.promoted);
    of.keyturn_agent_secrets.set({ set: "live" }, secrets.live ?? 0);
    of.keyturn_agent_secrets.set({ set: "left_out" }, secrets.leftOut ?? 0);
    for (const [direction, count] of Object.entries(differenceCounts)) of.keyturn_agent_differences.set({ direction }, count);
    of.keyturn_agent_verified.set(status.state === "verified" ? 1 : 0);
    for (const alarm of alarmNames) of.keyturn_agent_alarm.set({ alarm }, alarms.some((raised) => raised.alarm === alarm) ? 1 : 0);
    if (promotedAt !== undefined) of.keyturn_agent_promoted_timestamp_seconds.set(Date.parse(promotedAt) / 1000);
    if (promotion && promotion !== seen.promotion) {
      of.keyturn_agent_promotions_total.inc({ result: promotion.ok ? "success" : "error" });
      of.keyturn_agent_promotion_seconds.set(promotion.durationMs / 1000);
    }
    if (command && command !== seen.command) {
      of.keyturn_agent_commands_total.inc({ result: command.ok ? "success" : "error" });
      of.keyturn_agent_command_seconds.set(command.durationMs / 1000);
    }
    seen = { promotion, command };
  };
}
