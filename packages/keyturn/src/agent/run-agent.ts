// A whole agent process: what is on the disk first, then the API server, probes and metrics, wired together.
import { hostname } from "node:os";
import {
  type AccessRule,
  type Clock,
  type ConnectionConfig,
  createCaches,
  createClient,
  createHttpTransport,
  createMetrics,
  formatDuration,
  type HealthCheck,
  Lease,
  type Logger,
  type MetricRow,
  type Metrics,
  metricsOf,
  Namespace,
  observeCaches,
  observeProcess,
  observeWatches,
  type RuntimeMetrics,
  Secret,
  simpleCheck,
  startHealthServer,
  startHeartbeat,
  systemClock,
  systemRandom,
} from "@keyturn/runtime";
import type { AnnouncementKey } from "../controllers/checksum/announcement.ts";
import { SecretCheckSum } from "../controllers/checksum/api.ts";
import { isWide, type ScopeChoice } from "../controllers/checksum/scopes.ts";
import { Agent } from "./agent.ts";
import type { DecisionRules } from "./decision.ts";
import { type Disk, systemDisk } from "./disk.ts";
import { secureFolder } from "./folder-check.ts";
import { lockFolder } from "./folder-lock.ts";
import { type ChangeNotice, GatewayNotice, notifyChange } from "./gateway.ts";
import { secretSource, type ServedScope, viewScope } from "./observe.ts";
import { ServedSet } from "./served-set.ts";
import { alarmNames } from "./alarm-policies.ts";
import { readMemory } from "./manifest.ts";
import { SnapshotStore } from "./snapshots.ts";
import { AgentLease, type AgentStatus, type Attempt, StatusFile } from "./status.ts";

/** What an agent process is made of. */
export interface AgentProcessOptions {
  readonly namespace: string;
  readonly folder: string;
  readonly identity: string;
  readonly rules: DecisionRules;
  /** Which Secrets count, the same as for the control plane. */
  readonly members: Pick<ServedScope, "rules" | "selection">;
  /** Default the namespace alone. Otherwise `namespace` is where the checksum of the scope is published, and files are by namespace. */
  readonly scopeChoice?: ScopeChoice;
  /** Given: only what one of them has signed is adopted. */
  readonly keys?: readonly AnnouncementKey[] | undefined;
  readonly notice: ChangeNotice | undefined;
  readonly pauseMs: number;
  readonly maxStalenessMs: number;
  readonly verifyEveryMs: number;
  readonly shareAbove: number;
  readonly lease: boolean;
  readonly bindAddress: string;
  /** Finds the API server. Called once what is on the disk is served: it may take long, or fail. */
  readonly connect: () => Promise<ConnectionConfig>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly log: Logger;
  /** Default the machine's. */
  readonly disk?: Disk;
  /** Default the machine's. */
  readonly clock?: Clock;
  /** Called with where probes are served, before the API server is looked for. */
  readonly onStarted?: (url: string | undefined) => void;
}

const singleNamespace: ScopeChoice = { choice: { type: "named", names: [] }, rule: { type: "namespace" } };

/** The longest that Node's timers can do. */
const maxIntervalMs = 2 ** 31 - 1;

/**
 * Runs until the signal aborts. What is on the disk is verified and served before anything else.
 * Rejects if the folder cannot be used, is not safe (`UnsafeFolderError`), is held by another agent (`FolderHeldError`) or belongs to another namespace, the address cannot be had, or no API
 * server is configured; what is on the disk stays served.
 */
export async function runAgent(options: AgentProcessOptions, signal: AbortSignal): Promise<void> {
  const { folder, identity, log, disk = systemDisk, clock = systemClock } = options;
  // The clock's timers do not keep a process alive, so one that serves no probes would simply end while the API server is away.
  const alive = setInterval(() => {}, maxIntervalMs);
  try {
    await secureFolder(disk, folder, log);
    const holder = { identity, host: hostname(), pid: process.pid, since: new Date(clock.now()).toISOString() };
    const lock = await lockFolder({ folder, disk, holder, clock, random: systemRandom, log });
    try {
      await serveFolder(options, signal);
    } finally {
      await lock?.release();
    }
  } finally {
    clearInterval(alive);
  }
}

/** Runs the agent of a folder that nobody else uses. */
async function serveFolder(options: AgentProcessOptions, signal: AbortSignal): Promise<void> {
  const { namespace, folder, identity, environment, log, disk = systemDisk, clock = systemClock } = options;
  const metrics = createMetrics();
  const count = agentNumbers(metrics);
  const served = new ServedSet({
    store: new SnapshotStore({ disk, folder, namespace, shareAbove: options.shareAbove }),
    verifyEveryMs: options.verifyEveryMs,
    clock,
    log,
  });
  await served.recover();
  const owner = served.promoted?.manifest.namespace ?? namespace;
  if (owner !== namespace) throw new Error(`${folder} holds certificates of namespace ${owner}, not ${namespace}: give another --dir`);

  const { notice } = options;
  const memory = await readMemory(disk, folder);
  const notify = (to: ChangeNotice) => (snapshot: string, stop: AbortSignal) => notifyChange(to, { folder, snapshot, environment, clock }, stop);
  const gateway = notice && new GatewayNotice({ notify: notify(notice), clock, log }, memory.notified);

  let status: AgentStatus | undefined;
  let lease: AgentLease | undefined;
  const file = new StatusFile(disk, folder, log);
  const onStatus = (described: AgentStatus): void => {
    status = described;
    count(described);
    lease?.show(described);
    file.show(described);
  };
  const agent = new Agent({
    namespace,
    identity,
    folder,
    disk,
    served,
    memory,
    gateway,
    rules: options.rules,
    pauseMs: options.pauseMs,
    onStatus,
    clock,
    log,
  });

  showStaleness(metrics, { stalenessMs: () => agent.stalenessMs, alarmAfterMs: options.rules.alarmAfterMs });
  const stopObserving = observeProcess(metrics, { version: options.version });
  const heartbeat = startHeartbeat(clock);
  const server = await startHealthServer({
    healthBindAddress: options.bindAddress,
    metricsBindAddress: options.bindAddress,
    liveness: [heartbeat.check],
    readiness: [servedCheck(served), stalenessCheck(agent, options.maxStalenessMs)],
    pages: {
      "/status": () => ({ type: "application/json", body: `${JSON.stringify({ ...status, stalenessMs: agent.stalenessMs }, undefined, 2)}\n` }),
    },
    metrics,
    log,
  });
  try {
    await agent.start(signal);
    options.onStarted?.(server.healthUrl);
    const connection = await options.connect();
    const transport = createHttpTransport({ ...connection, env: environment, userAgent: "keyturn-agent", clock });
    try {
      const client = createClient(transport, { clock, random: systemRandom });
      const caches = createCaches({ transport, clock, random: systemRandom, log });
      const scope = { home: namespace, scopeChoice: options.scopeChoice ?? singleNamespace, keys: options.keys, ...options.members };
      const view = viewScope({ caches, client, clock, signal }, scope, () => agent.changed());
      observeWatches(metrics, () => caches.statuses());
      observeCaches(metrics, () => caches.statuses());
      caches.start(signal);
      lease = options.lease ? new AgentLease({ client, namespace, identity, clock, log }) : undefined;
      await Promise.all([agent.run({ view, read: secretSource(client, scope, signal) }, signal), lease?.run(signal)]);
    } finally {
      transport.close();
    }
  } finally {
    heartbeat.stop();
    stopObserving();
    await file.settled();
    await server.close();
  }
}

// When the agent is ready: something whole is served, and it is not known to be out of date for too long.

/** Fails while nothing is promoted, or what is promoted is damaged. */
function servedCheck(served: Pick<ServedSet, "promoted" | "isWhole" | "damage">): HealthCheck {
  return simpleCheck("served certificates", () => {
    if (!served.promoted) return served.damage ?? "nothing has been promoted yet";
    return served.isWhole ? undefined : served.damage;
  });
}

/** Fails when what is served has been unverified for longer than it may. `maxMs` 0: never. */
function stalenessCheck(agent: Pick<Agent, "stalenessMs">, maxMs: number): HealthCheck {
  return simpleCheck("verified lately", () => {
    const { stalenessMs } = agent;
    if (maxMs === 0 || stalenessMs === undefined || stalenessMs <= maxMs) return undefined;
    return `what is served was last verified ${formatDuration(Math.round(stalenessMs / 1000) * 1000)} ago`;
  });
}

// The agent in numbers.

export const agentMetrics = {
  keyturn_agent_secrets: { type: "gauge", help: "Secrets: promoted (served), live (in the namespace and counted) or left_out.", labels: ["set"] },
  keyturn_agent_differences: {
    type: "gauge",
    help: "Secrets that differ from the newest checksum: missing, unexpected or changed.",
    labels: ["direction"],
  },
  keyturn_agent_verified: {
    type: "gauge",
    help: "1 while what is served is what a checksum says, as of no longer ago than --alarm-after; 0 when nothing could be verified for longer.",
    labels: [],
  },
  keyturn_agent_staleness_seconds: {
    type: "gauge",
    help: "Since what is served was last known to be what should be; 0 while it is, -1 if it never was.",
    labels: [],
  },
  keyturn_agent_held: {
    type: "gauge",
    help: "1 for a Secret that keeps the certificate that is served because something is wrong with the live one; the first 100 of them.",
    labels: ["secret", "reason"],
  },
  keyturn_agent_alarm: { type: "gauge", help: "1 for an alarm that is raised.", labels: ["alarm"] },
  keyturn_agent_promoted_timestamp_seconds: { type: "gauge", help: "When what is served was promoted, in seconds since the epoch.", labels: [] },
  keyturn_agent_promotions_total: { type: "counter", help: "Promotions by result: success or error.", labels: ["result"] },
  keyturn_agent_promotion_seconds: { type: "gauge", help: "How long the last promotion took.", labels: [] },
  keyturn_agent_commands_total: { type: "counter", help: "Commands run, or signals sent, after a promotion, by result.", labels: ["result"] },
  keyturn_agent_command_seconds: { type: "gauge", help: "How long the last command took.", labels: [] },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Shows how long ago what is served was verified, and whether that still counts, at each scrape. */
function showStaleness(
  metrics: RuntimeMetrics,
  { stalenessMs, alarmAfterMs }: { readonly stalenessMs: () => number | undefined; readonly alarmAfterMs: number },
): void {
  const { keyturn_agent_staleness_seconds: staleness, keyturn_agent_verified: verified } = metricsOf(metrics, agentMetrics);
  metrics.beforeScrape(() => {
    const ms = stalenessMs();
    staleness.set(ms === undefined ? -1 : ms / 1000);
    verified.set(ms !== undefined && ms <= alarmAfterMs ? 1 : 0);
  });
}

/** Keeps the other numbers up to date with each status. */
function agentNumbers(metrics: Metrics): (status: AgentStatus) => void {
  const of = metricsOf(metrics, agentMetrics);
  // Series that start at zero, so that the first failure is a rise and alerts see it.
  for (const result of ["success", "error"]) {
    of.keyturn_agent_promotions_total.inc({ result }, 0);
    of.keyturn_agent_commands_total.inc({ result }, 0);
  }
  let held: AgentStatus["held"] = [];
  let seen: { promotion?: Attempt | undefined; command?: Attempt | undefined } = {};
  return (status) => {
    const { secrets, differenceCounts, alarms, promotedAt, promotion, command } = status;
    of.keyturn_agent_secrets.set({ set: "promoted" }, secrets.promoted);
    of.keyturn_agent_secrets.set({ set: "live" }, secrets.live ?? 0);
    of.keyturn_agent_secrets.set({ set: "left_out" }, secrets.leftOut ?? 0);
    for (const [direction, count] of Object.entries(differenceCounts)) of.keyturn_agent_differences.set({ direction }, count);
    for (const { secret, situation } of held) of.keyturn_agent_held.remove({ secret, reason: situation });
    for (const { secret, situation } of status.held) of.keyturn_agent_held.set({ secret, reason: situation }, 1);
    held = status.held;
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

// Every right that the agent needs.

const secretsOf = (why: string): AccessRule => ({ kind: Secret, verbs: ["get", "list", "watch"], why });

/** In the namespace in which the checksum of its scope is published. */
export const agentAccess: readonly AccessRule[] = [
  secretsOf("to compute their checksum, and to put certificates and keys on the disk"),
  { kind: SecretCheckSum, verbs: ["get", "list", "watch"], why: "to know which state is the intended one" },
  { kind: Lease, verbs: ["get", "create", "patch", "delete"], why: "to report the status of the agent (not needed with --lease=false)" },
];

/** With a wider scope, where the other namespaces are: in each of them if they are named, in the whole cluster if labels choose them, as no right can be given by label. */
export function agentScopeAccess({ choice, rule }: ScopeChoice): readonly AccessRule[] {
  if (!isWide(rule)) return [];
  const secrets = secretsOf("to do the same with those of the scope's other namespaces");
  if (choice.type === "named") return choice.names.map((namespace) => ({ ...secrets, namespace }));
  return [secrets, { kind: Namespace, verbs: ["list", "watch"], why: "to see which namespaces the scope has" }];
}
