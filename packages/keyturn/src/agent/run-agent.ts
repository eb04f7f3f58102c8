// A whole agent process: what is on the disk first, then the API server, probes and metrics, wired together.
import { hostname } from "node:os";
import {
  type Clock,
  type ConnectionConfig,
  createCaches,
  createClient,
  createHttpTransport,
  createMetrics,
  type Logger,
  observeCaches,
  observeProcess,
  observeWatches,
  startHealthServer,
  startHeartbeat,
  systemClock,
  systemRandom,
} from "@keyturn/runtime";
import type { IdRules } from "../controllers/checksum/object-id.ts";
import { Agent } from "./agent.ts";
import { AgentLease } from "./agent-lease.ts";
import type { AgentStatus } from "./agent-status.ts";
import { type ChangeNotice, notifyChange } from "./change-notifier.ts";
import type { DecisionRules } from "./decision.ts";
import { type Disk, systemDisk } from "./disk.ts";
import { lockFolder } from "./folder-lock.ts";
import { GatewayNotice } from "./gateway-notice.ts";
import { GenerationStore } from "./generation-store.ts";
import { servedCheck, stalenessCheck } from "./health.ts";
import { agentNumbers, showStaleness } from "./metrics.ts";
import { viewNamespace } from "./namespace-view.ts";
import { secretSource } from "./secret-source.ts";
import { ServedSet } from "./served-set.ts";
import { readMemory } from "./state-file.ts";
import { StatusFile } from "./status-file.ts";

/** What an agent process is made of. */
export interface AgentProcessOptions {
  readonly namespace: string;
  readonly folder: string;
  readonly identity: string;
  readonly rules: DecisionRules;
  /** Which Secrets count, the same as for the control plane. */
  readonly members: { readonly rules: IdRules; readonly labels: string | undefined; readonly types: "tls" | "all" };
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

/** The longest that Node's timers can do. */
const longestIntervalMs = 2 ** 31 - 1;

/**
 * Runs until the signal aborts. What is on the disk is verified and served before anything else.
 * Rejects if the folder cannot be used, is held by another agent (`FolderHeldError`) or belongs to another namespace, the address cannot be had, or no API
 * server is configured; what is on the disk stays served.
 */
export async function runAgent(options: AgentProcessOptions, signal: AbortSignal): Promise<void> {
  const { folder, identity, log, disk = systemDisk, clock = systemClock } = options;
  // The clock's timers do not keep a process alive, so one that serves no probes would simply end while the API server is away.
  const alive = setInterval(() => {}, longestIntervalMs);
  try {
    await disk.makeFolder(folder);
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
    store: new GenerationStore({ disk, folder, shareAbove: options.shareAbove }),
    verifyEveryMs: options.verifyEveryMs,
    clock,
    log,
  });
  await served.recover();
  const owner = served.promoted?.manifest.namespace ?? namespace;
  if (owner !== namespace) throw new Error(`${folder} holds certificates of namespace ${owner}, not ${namespace}: give another --dir`);

  const { notice } = options;
  const memory = await readMemory(disk, folder);
  const notify = (to: ChangeNotice) => (generation: string, stop: AbortSignal) => notifyChange(to, { folder, generation, environment, clock }, stop);
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

  showStaleness(metrics, () => agent.stalenessMs);
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
      const { labels, types, rules } = options.members;
      const selection = { namespace, ...(labels && { labels }), ...(types === "tls" && { fields: "type=kubernetes.io/tls" }) };
      const view = viewNamespace(caches, { selection, rules }, () => agent.changed());
      observeWatches(metrics, () => caches.statuses());
      observeCaches(metrics, () => caches.statuses());
      caches.start(signal);
      lease = options.lease ? new AgentLease({ client, namespace, identity, clock, log }) : undefined;
      await Promise.all([agent.run({ view, read: secretSource(client, selection, signal) }, signal), lease?.run(signal)]);
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
