// The HTTP server(s) for probes and scrapes: /healthz, /readyz and /metrics.
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { once } from "node:events";
import { parseBindAddress } from "./bind-address.ts";
import { limitConnections } from "./connection-limit.ts";
import { healthReport } from "./health-report.ts";
import type { HealthCheck } from "./health-report.ts";
import type { Logger } from "./logger.ts";
import type { RuntimeMetrics } from "./metrics.ts";

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
  /** More pages beside the probes, by path, such as `/status`; each is made when it is asked for. Default none. */
  readonly pages?: Readonly<Record<string, () => { readonly type: string; readonly body: string }>>;
  readonly log: Logger;
}

/** Running servers. */
export interface HealthServer {
  /** `http://host:port` of the health server; absent if it is off. */
  readonly healthUrl: string | undefined;
  readonly metricsUrl: string | undefined;
  /** Stops listening and closes every connection. */
  close(): Promise<void>;
}

/** A server could not listen where it was told to. */
export class BindError extends Error {
  readonly code = "Bind";
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "BindError";
  }
}

type Handler = (query: URLSearchParams) => Promise<Answer> | Answer;

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Probes and scrapers are few; whoever opens more is neither. */
const mostConnections = 64;

const plainText = "text/plain; charset=utf-8";

/** Starts the servers; rejects with a `BindError` if an address cannot be had. */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const { healthBindAddress, metricsBindAddress, liveness, readiness, metrics, pages = {}, log } = options;
  const probes: Readonly<Record<string, Handler>> = {
    ...Object.fromEntries(Object.entries(pages).map(([path, page]) => [path, (): Answer => Object.assign({ status: 200 }, page())])),
    "/healthz": (query) => probeAnswer(liveness, query),
    "/readyz": (query) => probeAnswer(readiness, query),
  };
  const scrapes: Readonly<Record<string, Handler>> = {
    "/metrics": async () => ({ status: 200, type: metrics.registry.contentType, body: await metrics.text() }),
  };
  if (healthBindAddress === metricsBindAddress) {
    const server = await listen("health probes and metrics", healthBindAddress, { routes: { ...probes, ...scrapes }, log });
    return { healthUrl: server?.url, metricsUrl: server?.url, close: async () => server?.close() };
  }
  const health = await listen("health probes", healthBindAddress, { routes: probes, log });
  try {
    const scrape = await listen("metrics", metricsBindAddress, { routes: scrapes, log });
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

function probeAnswer(checks: readonly HealthCheck[], query: URLSearchParams): Answer {
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
}

async function listen(purpose: string, bindAddress: string, { routes, log }: Service): Promise<Listening | undefined> {
  const address = parseBindAddress(bindAddress);
  if (address.type === "off") return undefined;
  // Node looks only every half minute for requests that take too long to arrive, unless told otherwise.
  const limits = { headersTimeout: 5000, requestTimeout: 5000, connectionsCheckingInterval: 5000, keepAliveTimeout: 15_000, maxHeaderSize: 8192 };
  const server = createServer(limits, (request, response) => {
    answer(request, response, routes).catch((error: unknown) => {
      log.error({ err: error, path: request.url }, "could not answer a probe or scrape");
      response.destroy();
    });
  });
  limitConnections(server, mostConnections);
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
  return { url: urlOf(server, host), close: () => closeServer(server) };
}

function bindReason(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  if (code === "EADDRINUSE") return "the port is in use; choose another or stop what uses it";
  if (code === "EACCES") return "this user may not listen there; choose a port of 1024 or above";
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") return "this machine does not have that address";
  return error instanceof Error ? error.message : String(error);
}

function urlOf(server: Server, host = "127.0.0.1"): string {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

async function answer(request: IncomingMessage, response: ServerResponse, routes: Service["routes"]): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://probe");
  const handler = routes[pathname];
  const reply = (status: number, body: string): Answer => ({ status, type: plainText, body });
  const allowed = request.method === "GET" || request.method === "HEAD";
  if (!allowed) response.setHeader("allow", "GET, HEAD");
  const known = handler ? () => handler(searchParams) : () => reply(404, `not found; there are ${Object.keys(routes).join(", ")}\n`);
  const { status, type, body } = allowed ? await known() : reply(405, "only GET and HEAD are answered\n");
  // A body that nobody reads would keep the connection busy.
  if (!allowed) response.setHeader("connection", "close");
  response.writeHead(status, {
    "content-type": type,
    "content-length": Buffer.byteLength(body),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
