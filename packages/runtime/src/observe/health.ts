// Probes and scrapes: what `/healthz`, `/readyz` and `/metrics` say, and the servers that say it.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { WatchStatus } from "../cache/caches.ts";
import type { Clock, Timer } from "../clock.ts";
import { limitConnections, oneAtATime } from "./connection-limit.ts";
import type { Logger } from "./logger.ts";
import type { RuntimeMetrics } from "./metrics.ts";
import { redactText } from "./redaction.ts";
import type { ScrapeGate } from "./scrape-gate.ts";
import type { ServingCertificate } from "./serving-certificate.ts";

/** One line of a report. `failed` makes the whole report fail, `waiting` is only shown. */
interface HealthLine {
  readonly name: string;
  readonly result: "ok" | "waiting" | "failed";
  readonly detail?: string;
}

/** Looks at one thing and reports how it is. What it throws counts as failed. */
export type HealthCheck = () => readonly HealthLine[];

/** A check that is a simple yes, or a reason why not. */
export function simpleCheck(name: string, reasonAgainst: () => string | undefined): HealthCheck {
  return () => {
    const detail = reasonAgainst();
    return [detail === undefined ? { name, result: "ok" } : { name, result: "failed", detail }];
  };
}

/** A controller as `/readyz` shows it. */
interface ControllerHealth {
  readonly name: string;
  /** In a word or two: `leading`, `standby`, `waiting for its CRD`. */
  readonly state: string;
  readonly ready: boolean;
}

/** One line per controller. */
export function controllerCheck(controllers: () => readonly ControllerHealth[]): HealthCheck {
  return () => controllers().map(({ name, state, ready }) => ({ name: `controller ${name}`, result: ready ? "ok" : "failed", detail: state }));
}

/**
 * One line per watch, with its state and age. A watch that is not synced, retries or is refused fails the report;
 * one whose CRD is not installed only waits, since nothing is wrong with this process.
 */
export function watchCheck(statuses: () => readonly WatchStatus[]): HealthCheck {
  return () => statuses().map(watchLine);
}

function watchLine({ resource, namespace, state, synced, objects, quietForMs }: WatchStatus): HealthLine {
  const name = `watch ${resource}${namespace === undefined ? "" : ` in ${namespace}`}`;
  const facts = `${objects} objects, last heard from ${Math.round(quietForMs / 1000)} s ago`;
  if (state.type === "missing") return { name, result: "waiting", detail: "the API server does not serve this kind; install its CRD" };
  if (state.type === "forbidden") return { name, result: "failed", detail: `the right to ${state.rule} is missing` };
  if (state.type === "retrying") return { name, result: "failed", detail: `retrying after: ${state.error}; ${facts}` };
  return { name, result: state.type === "live" && synced ? "ok" : "failed", detail: `${state.type}, ${facts}` };
}

/** A finished report. */
interface HealthReport {
  readonly ok: boolean;
  readonly text: string;
}

const symbols = { ok: "[+]", waiting: "[~]", failed: "[-]" } as const;

/** Runs the checks. The text is `ok` alone unless `verbose` or something failed. */
function healthReport(checks: readonly HealthCheck[], verbose: boolean): HealthReport {
  const lines = checks.flatMap((check): readonly HealthLine[] => {
    try {
      return check();
    } catch (error) {
      return [{ name: "check", result: "failed", detail: `a check threw: ${String(error)}` }];
    }
  });
  const ok = lines.every(({ result }) => result !== "failed");
  if (ok && !verbose) return { ok, text: "ok\n" };
  const body = lines.map(({ name, result, detail }) => `${symbols[result]} ${name}${detail === undefined ? "" : `: ${redactText(detail)}`}\n`);
  return { ok, text: `${body.join("")}${ok ? "ok" : "failed"}\n` };
}

// Where a server listens, in the words of a flag: `:8080`, `127.0.0.1:0`, `[::1]:8081`, or `0` for nowhere.

/** Where to listen. Without a host: on all addresses. */
type BindAddress = { readonly type: "off" } | { readonly type: "listen"; readonly host?: string; readonly port: number };

/** Reads a bind address; throws with what is allowed if it is none. */
export function parseBindAddress(text: string): BindAddress {
  if (text === "0" || text === "") return { type: "off" };
  const { v6, host = v6, port } = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]\s]*)):(?<port>\d{1,5})$/.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > 65_535) {
    throw new Error(`cannot read the bind address ${JSON.stringify(text)}: use :8080, 127.0.0.1:8080, [::1]:8080, or 0 for none`);
  }
  return { type: "listen", port: Number(port), ...(host ? { host } : {}) };
}

// The HTTP server(s) for probes and scrapes: /healthz, /readyz and /metrics.

/** Where to serve what. */
export interface HealthServerOptions {
  /** For /healthz and /readyz: `:8081`, `127.0.0.1:0`, `[::]:8081`, or `0` for nowhere. */
  readonly healthBindAddress: string;
  /** For /metrics. The same address as above means the same server. */
  readonly metricsBindAddress: string;
  /** Fail only if this process is beyond repair: Kubernetes kills it then. That the API server is away is no such thing. */
  readonly liveness: readonly HealthCheck[];
  readonly readiness: readonly HealthCheck[];
  readonly metrics: RuntimeMetrics;
  /** Serves /metrics by HTTPS, to those whom the gate lets in; on an address of their own. Default: by HTTP, to everybody. */
  readonly scrapes?: SecureScrapes;
  /** More pages beside the probes, by path, such as `/status`; each is made when it is asked for. Default none. */
  readonly pages?: Readonly<Record<string, () => { readonly type: string; readonly body: string }>>;
  readonly log: Logger;
}

/** Metrics for those who may read them. */
export interface SecureScrapes {
  readonly certificate: ServingCertificate;
  readonly gate: ScrapeGate;
}

/** Running servers. */
export interface HealthServer {
  /** `http://host:port` of the health server; absent if it is off. */
  readonly healthUrl: string | undefined;
  readonly metricsUrl: string | undefined;
  /** Stops listening and closes every connection. */
  close(): Promise<void>;
}

/** A server could not listen where it was to. */
export class BindError extends Error {
  readonly code = "Bind";
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "BindError";
  }
}

type Handler = (query: URLSearchParams, request: IncomingMessage) => Promise<ProbeResponse> | ProbeResponse;

interface ProbeResponse {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Probes and scrapers are few; whoever opens more is neither. */
const maxConnections = 64;

const plainText = "text/plain; charset=utf-8";

/** Starts the servers; rejects with a `BindError` if an address cannot be had. */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const { healthBindAddress, metricsBindAddress, liveness, readiness, metrics, scrapes: secure, pages = {}, log } = options;
  const probes: Readonly<Record<string, Handler>> = {
    ...Object.fromEntries(Object.entries(pages).map(([path, page]) => [path, (): ProbeResponse => Object.assign({ status: 200 }, page())])),
    "/healthz": (query) => probeResponse(liveness, query),
    "/readyz": (query) => probeResponse(readiness, query),
  };
  const text = shared(async () => ({ status: 200, type: metrics.registry.contentType, body: Buffer.from(await metrics.text()) }));
  const scrapes: Readonly<Record<string, Handler>> = { "/metrics": secure ? guarded(text, secure.gate) : text };
  const same = healthBindAddress === metricsBindAddress ? parseBindAddress(healthBindAddress) : undefined;
  // A port that the system chooses is another one for each of them.
  if (secure && same?.type === "listen" && same.port !== 0)
    throw new BindError(`metrics by HTTPS and health probes cannot both be served on ${metricsBindAddress}: choose another address for one of them`);
  if (same && !secure) {
    const server = await listen("health probes and metrics", healthBindAddress, { routes: { ...probes, ...scrapes }, log });
    return { healthUrl: server?.url, metricsUrl: server?.url, close: async () => server?.close() };
  }
  const health = await listen("health probes", healthBindAddress, { routes: probes, log });
  try {
    const scrape = await listen("metrics", metricsBindAddress, { routes: scrapes, log, ...(secure && { certificate: secure.certificate }) });
    return {
      healthUrl: health?.url,
      metricsUrl: scrape?.url,
      close: async () => void (await Promise.all([health?.close(), scrape?.close()])),
    };
  } catch (error) {
    await health?.close();
    throw error;
  }
}

/** Whoever asks while an answer is being made gets the same one. */
function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => (underWay ??= make().finally(() => (underWay = undefined)));
}

/** For those whom the gate lets in. */
function guarded(text: () => Promise<ProbeResponse>, gate: ScrapeGate): Handler {
  return async (_query, request) => {
    const refusal = await gate.refusal(request);
    if (!refusal) return text();
    const headers: Record<string, string> = refusal.status === 401 ? { "www-authenticate": 'Bearer realm="metrics"' } : {};
    return { status: refusal.status, type: plainText, body: `${refusal.text}\n`, headers };
  };
}

function probeResponse(checks: readonly HealthCheck[], query: URLSearchParams): ProbeResponse {
  const { ok, text } = healthReport(checks, query.has("verbose"));
  return { status: ok ? 200 : 503, type: plainText, body: text };
}

interface Listening {
  readonly url: string;
  close(): Promise<void>;
}

interface Service {
  readonly routes: Readonly<Record<string, Handler>>;
  readonly log: Logger;
  /** Default: without encryption. */
  readonly certificate?: ServingCertificate;
}

async function listen(purpose: string, bindAddress: string, { routes, log, certificate }: Service): Promise<Listening | undefined> {
  const address = parseBindAddress(bindAddress);
  if (address.type === "off") return undefined;
  // Node looks only every half minute for requests that take too long to arrive, by default.
  const limits = { headersTimeout: 5000, requestTimeout: 5000, connectionsCheckingInterval: 5000, maxHeaderSize: 8192 };
  const onRequest = oneAtATime((request, response) => {
    answer(request, response, routes).catch((error: unknown) => {
      log.error({ err: error, path: request.url }, "could not answer a probe or scrape");
      response.destroy();
    });
  });
  const secure = certificate && createSecureServer({ ...limits, ...certificate.now, handshakeTimeout: 5000 }, onRequest);
  const server = secure ?? createServer(limits, onRequest);
  const endAll = limitConnections(server, maxConnections);
  // One who does not read the answer is cut off as well.
  server.setTimeout(15_000);
  const { host, port } = address;
  server.listen({ port, ...(host !== undefined && { host }) });
  try {
    await once(server, "listening");
  } catch (error) {
    throw new BindError(`cannot listen on ${bindAddress} for ${purpose}: ${bindReason(error)}`, { cause: error });
  }
  server.on("error", (error) => log.error({ err: error }, `the server for ${purpose} failed`));
  const following = secure && certificate.follow(secure);
  return {
    url: `${secure ? "https" : "http"}://${addressOf(server, host)}`,
    close() {
      following?.stop();
      return closeServer(server, endAll);
    },
  };
}

function bindReason(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  if (code === "EADDRINUSE") return "the port is in use; choose another or stop what uses it";
  if (code === "EACCES") return "this user may not listen there; choose a port of 1024 or above";
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") return "this machine does not have that address";
  return error instanceof Error ? error.message : String(error);
}

function addressOf(server: Server, host = "127.0.0.1"): string {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

async function answer(request: IncomingMessage, response: ServerResponse, routes: Service["routes"]): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://probe");
  const handler = routes[pathname];
  const reply = (status: number, body: string): ProbeResponse => ({ status, type: plainText, body });
  const allowed = request.method === "GET" || request.method === "HEAD";
  if (!allowed) response.setHeader("allow", "GET, HEAD");
  const known = handler ? () => handler(searchParams, request) : () => reply(404, `not found; there are ${Object.keys(routes).join(", ")}\n`);
  const { status, type, body, headers } = allowed ? await known() : reply(405, "only GET and HEAD are answered\n");
  response.writeHead(status, {
    ...headers,
    // Probes and scrapes come seconds apart, and nothing that follows on the connection is read, be it a body or more requests.
    connection: "close",
    "content-type": type,
    "content-length": Buffer.byteLength(body),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

function closeServer(server: Server, endAll: () => void): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    endAll();
  });
}

// Reports whether timers still fire: the one thing that makes a process worth killing when everything else may recover.

const beatEveryMs = 5000;
const lateAfterMs = 60_000;

/** Beats every 5 s. The check fails when there was no beat for a minute; `stop` ends the beating. */
export function startHeartbeat(clock: Clock): { readonly check: HealthCheck; stop(): void } {
  let lastMs = clock.monotonic();
  let timer: Timer;
  const beat = (): void => {
    lastMs = clock.monotonic();
    timer = clock.setTimer(beatEveryMs, beat);
  };
  beat();
  const check = simpleCheck("event loop", () => {
    const lateMs = clock.monotonic() - lastMs;
    return lateMs < lateAfterMs ? undefined : `timers have not fired for ${Math.round(lateMs / 1000)} s`;
  });
  return { check, stop: () => timer.cancel() };
}
