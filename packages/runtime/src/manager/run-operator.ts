// A whole operator process from a list of controllers: who it is, connection, caches, leases, Events, metrics and probes, wired together.
import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:net";
import { hostname } from "node:os";
import { type Caches, createCaches, type WatchStatus } from "../cache/caches.ts";
import type { ConnectionConfig } from "../client/auth/connection-config.ts";
import type { Event } from "../client/builtin-kinds.ts";
import type { Client } from "../client/client.ts";
import { dryRunClient } from "../client/dry-run-client.ts";
import { createHttpTransport } from "../client/http/http-transport.ts";
import { createClient } from "../client/kube-client.ts";
import { observeServerClock, observeTransport, observeWarnings } from "../client/observed-transport.ts";
import type { AnswerLimits, Transport } from "../client/transport.ts";
import { type Clock, systemClock, sharedTimeSlice } from "../clock.ts";
import type { ControllerDefinition } from "../controller/controller.ts";
import { outcomeCondition } from "../controller/outcome-condition.ts";
import type { Operator } from "../controller/owned-objects.ts";
import { SeriesEventRecorder } from "../observe/events.ts";
import { BindError, controllerCheck, type SecureScrapes, startHealthServer, startHeartbeat, watchCheck } from "../observe/health.ts";
import { createLogger, type Logger } from "../observe/logger.ts";
import { createMetrics, type RuntimeMetrics } from "../observe/metrics.ts";
import { safeErrorSummary } from "../observe/redaction.ts";
import { controllerMetrics, observeCaches, observeProcess, observeWatches, requestMetrics } from "../observe/runtime-metrics.ts";
import { ScrapeGate } from "../observe/scrape-gate.ts";
import { type CertificateFiles, certificateFromFiles, selfSignedCertificate } from "../observe/serving-certificate.ts";
import { type Random, systemRandom } from "../random.ts";
import { installationKey } from "./installation-key.ts";
import type { LeaseTimes } from "./lease-elector.ts";
import { type ControllerStatus, createManager } from "./manager.ts";
import { SchemaWatch } from "./schema-watch.ts";

// The name under which a process holds Leases.

/** A name that no other process has for as long as it is not disposed of. */
interface ClaimedIdentity extends AsyncDisposable {
  readonly identity: string;
}

/**
 * The host, which in a cluster is the pod, for people; and what tells this process from all others.
 *
 * In a pod, that is the pod's uid: a container that is started again has the name of the one before and takes its Leases at once. Only one process can be
 * it, and the proof is the kernel's: whoever has the pod's name holds a socket of that name, which all containers of a pod see and which is gone the moment
 * its process is dead. One that cannot have it, because somebody runs the operator a second time within the pod, is a process like any other and waits.
 */
export async function claimIdentity(operator: string, podUid: string | undefined): Promise<ClaimedIdentity> {
  const held = podUid !== undefined && /^[\w-]{1,64}$/.test(podUid) ? await holdName(`${operator}/${podUid}`) : undefined;
  return {
    identity: `${hostname()}_${held ? podUid : randomUUID()}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => (held ? held.close(() => resolve()) : resolve())),
  };
}

/** Linux's abstract sockets: no file, one name in a network namespace. Elsewhere there is no such thing, and no pod either. */
function holdName(name: string): Promise<Server | undefined> {
  if (process.platform !== "linux") return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.on("error", () => resolve(undefined));
    server.listen(`\0${name}`, () => resolve(server.unref()));
  });
}

// A whole operator process from a list of controllers: connection, caches, leases, Events, metrics and probes, wired together.

/** What an operator process is made of. Everything but the first three has a default that suits production. */
export interface OperatorOptions {
  readonly operator: Operator;
  readonly connection: ConnectionConfig;
  readonly controllers: readonly ControllerDefinition[];
  /** Shown in metrics. Default `unknown`. */
  readonly version?: string;
  /** Limits the operator to these namespaces. Default all. */
  readonly namespaces?: readonly string[];
  /** Default: on, in the connection's namespace or else `default`, held 15 s, without annotations on the Leases. */
  readonly leaderElection?: {
    readonly enabled?: boolean;
    readonly namespace?: string;
    readonly durations?: LeaseTimes;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  /** What the API server may send. Defaults as in `AnswerLimits`. */
  readonly answerLimits?: AnswerLimits;
  /** Every key runs again this often, spread over a tenth of it; nothing is written where nothing changed. Default 10 h. */
  readonly resyncMs?: number;
  /** Checks and logs every write and makes none; takes no Lease and records no Event. Default false. */
  readonly dryRun?: boolean;
  /** Where `/metrics` is served, such as `:8080`. Default `0`: nowhere. */
  readonly metricsBindAddress?: string;
  /**
   * Serves `/metrics` by HTTPS, only to those who have a bearer token of the cluster and may `get` the path /metrics; with a certificate from files, or one
   * that the process signs itself. Default: by HTTP, to everybody.
   */
  readonly secureMetrics?: { readonly certificate?: CertificateFiles };
  /** Where `/healthz` and `/readyz` are served, such as `:8081`. Default `0`: nowhere. */
  readonly healthBindAddress?: string;
  /** Default JSON lines on standard output. */
  readonly log?: Logger;
  /** What runs beside the controllers. Default nothing. */
  readonly runnables?: readonly Runnable[];
  /** Called once everything listens and the controllers have been started. */
  readonly onStarted?: (operator: StartedOperator) => void;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Default: HTTP to the connection's server. */
  readonly transport?: Transport;
  /** Where proxies are looked up, and `POD_UID`: a container that is started again in its pod takes the Leases of the one before at once. Default the process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Something that runs beside the controllers in every process, whether or not it leads: a page, a report. It is started when the controllers are set up. */
export interface Runnable {
  /** Declares its watches before its promise resolves. What it rejects with makes the start impossible. */
  start(host: RunnableHost): Promise<AsyncDisposable>;
}

/** What the process shares with a runnable. */
export interface RunnableHost {
  readonly caches: Caches;
  /** Writes of its own are sent even in a dry run: reviews of tokens and rights are writes that store nothing. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics;
  readonly namespaces: readonly string[];
  /** How the controllers of this process fare. */
  controllers(this: void): readonly ControllerStatus[];
  /** Reports each Event that this process is about to write, repetitions left out. The listener must neither throw nor wait. */
  onEvent(this: void, listener: (event: Event) => void): void;
}

/** A running operator, to look at. */
export interface StartedOperator {
  readonly healthUrl: string | undefined;
  readonly metricsUrl: string | undefined;
  controllers(): readonly ControllerStatus[];
  watches(): readonly WatchStatus[];
}

/** Aborts when the process is asked to stop, by SIGTERM or SIGINT. The second such signal ends it at once: nobody should have to reach for SIGKILL. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const names = ["SIGTERM", "SIGINT"] as const;
  const onSignal = (received: NodeJS.Signals): void => {
    // Both: a supervisor's SIGTERM may be followed by somebody's Ctrl-C.
    for (const name of names) process.off(name, onSignal);
    stop.abort(new Error(`received ${received}`));
  };
  for (const name of names) process.on(name, onSignal);
  return stop.signal;
}

/**
 * Ends the process on an error that nobody caught, as Node does, which would print the error's words and the line of code: either may hold a secret. Whoever
 * listens for such errors already is left to it. Disposing of what is returned takes this back.
 */
function endOnUncaught(log: Logger): Disposable {
  if (process.listenerCount("uncaughtException") > 0) return { [Symbol.dispose]() {} };
  const onUncaught = (error: unknown): void => {
    log.error({ ...safeErrorSummary(error) }, "an error that nobody caught ends the process");
    process.exit(1);
  };
  process.on("uncaughtException", onUncaught);
  return { [Symbol.dispose]: () => void process.off("uncaughtException", onUncaught) };
}

/** Ends the last first, and each of them whatever the others do. Node 22 has no `AsyncDisposableStack`. */
async function endAll(started: AsyncDisposable[]): Promise<void> {
  const last = started.pop();
  if (!last) return;
  try {
    await last[Symbol.asyncDispose]();
  } finally {
    await endAll(started);
  }
}

/** How long Events that are still to be written may hold up the end. */
const lastEventsMs = 2000;

/** Runs until the signal aborts, and then ends in order; an error that nobody caught is logged without its words and ends the process. Rejects only for what makes a start impossible: an address that cannot be had, a controller whose set-up throws. */
export async function runOperator(options: OperatorOptions, signal: AbortSignal): Promise<void> {
  const { operator, connection, clock = systemClock, random = systemRandom, env = process.env, dryRun = false } = options;
  const slice = sharedTimeSlice(clock);
  const log = options.log ?? createLogger();
  using _ending = endOnUncaught(log);
  const metrics = createMetrics();
  const { maxHeadBytes, ...bodyLimits } = options.answerLimits ?? {};
  const wire =
    options.transport ??
    createHttpTransport({ ...connection, env, userAgent: operator.name, clock, ...(maxHeadBytes !== undefined && { maxHeadBytes }) });
  const host = new URL(connection.server).host;
  const { transport: timed, serverClock } = observeServerClock(wire, clock);
  const warned = observeWarnings(timed, ({ request, text }) => log.warn({ request, warning: text }, "the API server warns; this is said once"));
  const transport = observeTransport(warned, { clock, onRequest: requestMetrics(metrics, host) });
  const direct = createClient(transport, { clock, random, ...bodyLimits });
  const client = dryRun ? dryRunClient(direct, (write) => log.info(write, "dry run: this write is withheld")) : direct;
  const caches = createCaches({ transport, clock, random, log, namespaces: options.namespaces ?? [], limits: bodyLimits });
  await using held = await claimIdentity(operator.name, env["POD_UID"]);
  const { identity } = held;
  const recorder = new SeriesEventRecorder({ client, clock, random, log, metrics, reportingDomain: operator.domain, reportingInstance: identity });
  const events = (controller: string) => (dryRun ? { record() {} } : recorder.forController(controller));
  const { enabled = true, namespace = connection.namespace ?? "default", durations, annotations } = options.leaderElection ?? {};

  const schemas = new SchemaWatch({ client: direct, clock, random, log });
  const manager = createManager({
    operator,
    client,
    caches,
    clock,
    random,
    log,
    metrics,
    events,
    serverClock,
    schemas,
    installationKey: installationKey(client, { operator, namespace, nowMs: () => clock.now() }),
    dryRun,
    controllers: options.controllers,
    namespaces: options.namespaces ?? [],
    observer: controllerMetrics(metrics),
    report: outcomeCondition({ operator, events, client: direct, clock, namespaces: options.namespaces ?? [] }),
    ...(options.resyncMs !== undefined && { resyncMs: options.resyncMs }),
    leaderElection: {
      enabled: enabled && !dryRun,
      namespace,
      identity,
      leasePrefix: `${operator.name}-`,
      ...(durations && { durations }),
      ...(annotations && { annotations }),
    },
  });

  observeWatches(metrics, () => caches.statuses());
  observeCaches(metrics, () => caches.statuses());
  const stopObserving = observeProcess(metrics, { version: options.version ?? "unknown" });
  const started: AsyncDisposable[] = [];
  await using runnables = { [Symbol.asyncDispose]: () => endAll(started) };
  for (const runnable of options.runnables ?? []) {
    const onEvent = (listener: (event: Event) => void): void => recorder.subscribe(listener);
    const controllers = (): readonly ControllerStatus[] => manager.statuses();
    const host = { caches, client: direct, clock, random, log, metrics, namespaces: options.namespaces ?? [], controllers, onEvent };
    started.push(await runnable.start(host));
  }
  const heartbeat = startHeartbeat(clock);
  const scrapes = options.secureMetrics && (await secureScrapes(options.secureMetrics, { client: direct, clock, log }));
  const server = await startHealthServer({
    healthBindAddress: options.healthBindAddress ?? "0",
    metricsBindAddress: options.metricsBindAddress ?? "0",
    liveness: [heartbeat.check],
    readiness: [watchCheck(() => caches.statuses()), controllerCheck(() => manager.statuses())],
    metrics,
    ...(scrapes && { scrapes }),
    log,
  });
  try {
    // Setting up and opening the watches are long work, each by itself: all of this code runs for the first time.
    if (slice.used) await slice.pause();
    const running = Promise.all([manager.run(signal), schemas.run(signal)]);
    options.onStarted?.({
      healthUrl: server.healthUrl,
      metricsUrl: server.metricsUrl,
      controllers: () => manager.statuses(),
      watches: () => caches.statuses(),
    });
    await running;
    await recorder.close(AbortSignal.timeout(lastEventsMs));
  } finally {
    heartbeat.stop();
    stopObserving();
    await runnables[Symbol.asyncDispose]();
    await server.close();
    transport.close();
  }
}

/** Rejects with a `BindError` for files that hold no certificate. */
async function secureScrapes(
  { certificate: files }: NonNullable<OperatorOptions["secureMetrics"]>,
  host: { readonly client: Client; readonly clock: Clock; readonly log: Logger },
): Promise<SecureScrapes> {
  const gate = new ScrapeGate(host);
  if (!files) return { certificate: selfSignedCertificate(host.clock), gate };
  const certificate = await certificateFromFiles(files, host).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BindError(`cannot serve metrics by HTTPS with ${files.certificate} and ${files.key}: ${reason}`, { cause: error });
  });
  return { certificate, gate };
}
