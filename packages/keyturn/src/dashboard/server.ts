// Routes, limits, headers.
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIP } from "node:net";
import { eventStreamPath, type Hello, type ObjectDetail, type Refusal, type Session, sessionPath } from "@keyturn/dashboard/contract";
import { bearerToken, type Clock, limitConnections, type Logger, type MetricsOf, oneAtATime, parseBindAddress, RateByClient } from "@keyturn/runtime";
import { UsageError } from "../feature/flag.ts";
import type { dashboardMetrics } from "./dashboard.ts";
import { type StreamEnd, streamPage } from "./page-stream.ts";
import type { RecordStore } from "./record-store.ts";
import { refusedForNow, RefusedRequest, type RequestRates, usualRates } from "./request-limits.ts";
import { encodedFile, indexPath, type StaticFiles, unbuiltText } from "./static-files.ts";
import { rightsOverTime, ViewerGate } from "./viewer-gate.ts";
import type { AccessCheck, Place, Viewer } from "./viewer-rights.ts";

// How an answer is written: JSON, or one of the page's files.

/** Answers with JSON, which nobody keeps. */
function answerJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store", "content-length": Buffer.byteLength(text) });
  response.end(response.req.method === "HEAD" ? undefined : text);
}

/** Answers with a file, as small as the client takes it, or with nothing but that it has not changed. */
function answerFile(
  path: string,
  files: StaticFiles,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): void {
  if (files.size === 0) throw new RefusedRequest({ status: 503, error: unbuiltText });
  const file = files.get(path === "" ? indexPath : path);
  if (!file) throw new RefusedRequest({ status: 404, error: "there is no such file" });
  const accepted = request.headers["accept-encoding"];
  const { encoding, bytes } = encodedFile(file, typeof accepted === "string" ? accepted : "");
  response.setHeader("etag", file.etag);
  response.setHeader("vary", "accept-encoding");
  response.setHeader("cache-control", file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache");
  if (request.headers["if-none-match"] === file.etag) {
    response.writeHead(304).end();
    return;
  }
  if (encoding !== undefined) response.setHeader("content-encoding", encoding);
  response.writeHead(200, { "content-type": file.contentType, "content-length": bytes.length });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

// What every answer of the dashboard says about how it may be used.

const policy = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "connect-src": "'self'",
  "img-src": "'self' data:",
  "frame-ancestors": "'none'",
  "base-uri": "'none'",
  "form-action": "'none'",
};

/** Nothing but the page's own files is loaded, nobody frames it, and no address of it is sent to anybody. */
const securityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": Object.entries(policy)
    .map(([name, value]) => `${name} ${value}`)
    .join("; "),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "permissions-policy":
    "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), payment=(), usb=()",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

// Answers the dashboard's requests: the page's files, and below api/ the stream of records and the details of one object.

/** An object that somebody asks about. */
export interface AskedObject extends Place {
  readonly name: string;
}

/** Somebody who asks, and what they may know besides. */
export interface Asker {
  mayList(resource: { readonly group: string; readonly plural: string }, namespace: string): Promise<boolean>;
}

/** What requests are answered with. */
interface RequestHandlerOptions {
  readonly files: StaticFiles;
  readonly store: RecordStore;
  readonly access: AccessCheck;
  /** The details of an object; undefined if there is none. */
  readonly detail: (object: AskedObject, asker: Asker) => Promise<ObjectDetail | undefined>;
  readonly version: string;
  /** What is looked at, and where. */
  readonly shown: Pick<Hello, "cluster" | "namespaces" | "stages">;
  readonly metrics: MetricsOf<typeof dashboardMetrics>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly rates?: RequestRates;
  /** For tests: how often a stream ticks, and how long a page may read nothing. */
  readonly streamTimes?: { readonly tickMs?: number; readonly stallMs?: number };
  /** Default 2000. */
  readonly maxStreams?: number;
}

/** Pages that may be open at a time. */
const defaultMaxStreams = 2000;

/** A request and the way to answer it. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** One who may look, with the token by which they were known. */
interface Admitted {
  readonly viewer: Viewer;
  readonly bearer: string;
}

/** Answers until the signal aborts; then every stream ends with a word. */
class RequestHandler {
  readonly #options: RequestHandlerOptions;
  readonly #signal: AbortSignal;
  readonly #isLoopback: boolean;
  readonly #requests: RateByClient;
  readonly #gate: ViewerGate;
  #streams = 0;

  /** `isLoopback`: only this machine can reach the server. */
  constructor(options: RequestHandlerOptions, { signal, isLoopback }: { readonly signal: AbortSignal; readonly isLoopback: boolean }) {
    this.#options = options;
    this.#signal = signal;
    this.#isLoopback = isLoopback;
    const { clock, access, rates = usualRates } = options;
    this.#requests = new RateByClient(rates.requests, clock);
    this.#gate = new ViewerGate(access, { failures: rates.failures, clock });
  }

  async answer(exchange: Exchange): Promise<void> {
    const { response } = exchange;
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    try {
      await this.#route(exchange);
    } catch (error) {
      if (!(error instanceof RefusedRequest)) throw error;
      const { status, error: message, reason, headers = {} } = error.refused;
      if (reason !== undefined) this.#options.metrics.keyturn_dashboard_refused_total.inc({ reason });
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      answerJson(response, status, { error: message } satisfies Refusal);
    }
  }

  async #route(exchange: Exchange): Promise<void> {
    const { request, response } = exchange;
    const client = request.socket.remoteAddress ?? "";
    const url = URL.parse(request.url ?? "/", "http://dashboard");
    if (!url) throw new RefusedRequest({ status: 400, error: "the address cannot be read" });
    if (!this.#isForUs(request)) {
      throw new RefusedRequest({ status: 421, error: "this server answers only to the name of the machine that it runs on", reason: "host" });
    }
    refuseUnlessReading(request);
    if (!this.#requests.take(client)) {
      throw refusedForNow(429, "rate", { error: "too many requests", retryAfterSeconds: this.#requests.retryAfterSeconds });
    }
    const path = url.pathname.slice(1);
    if (!path.startsWith("api/")) return answerFile(path, this.#options.files, exchange);
    if (!isSameOrigin(request)) throw new RefusedRequest({ status: 403, error: "other pages may not ask", reason: "host" });
    if (path === sessionPath) {
      const { access, version, store } = this.#options;
      return answerJson(response, 200, { access: access.access, version, bootId: store.bootId } satisfies Session);
    }
    if (path !== eventStreamPath && path !== "api/object") throw new RefusedRequest({ status: 404, error: "there is no such address" });
    const bearer = bearerToken(request.headers.authorization) ?? "";
    const admitted = { bearer, viewer: await this.#gate.enter(bearer, client) };
    return path === eventStreamPath ? this.#stream(exchange, admitted) : this.#object(url.searchParams, response, admitted);
  }

  /** A page of another site can make this machine's browser ask here under a name of its own; that name is in the request. */
  #isForUs({ headers: { host = "" }, socket: { localPort } }: IncomingMessage): boolean {
    return !this.#isLoopback || ["127.0.0.1", "localhost", "[::1]"].some((name) => host === `${name}:${localPort}`);
  }

  async #stream({ request, response }: Exchange, { viewer, bearer }: Admitted): Promise<void> {
    const { store, access, clock, metrics, shown, streamTimes, maxStreams = defaultMaxStreams } = this.#options;
    if (this.#streams >= maxStreams) throw refusedForNow(503, "full", { error: "as many pages as may are open", retryAfterSeconds: 10 });
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no" });
    if (request.method === "HEAD") {
      response.end();
      return;
    }
    request.socket.setNoDelay(true);
    response.flushHeaders();
    const header = request.headers["last-event-id"];
    metrics.keyturn_dashboard_streams.set(++this.#streams);
    let end: StreamEnd = "gone";
    try {
      end = await streamPage(
        {
          store,
          out: response,
          clock,
          hello: { ...shown, ...(viewer.user !== undefined && { user: viewer.user }) },
          lastEventId: typeof header === "string" ? header : undefined,
          rights: rightsOverTime({ access, clock }, bearer, viewer.rights),
          onResync: () => metrics.keyturn_dashboard_resyncs_total.inc(),
          ...streamTimes,
        },
        this.#signal,
      );
    } finally {
      metrics.keyturn_dashboard_streams.set(--this.#streams);
      metrics.keyturn_dashboard_streams_ended_total.inc({ reason: end });
      if (end === "slow") response.destroy();
      else response.end();
    }
  }

  async #object(query: URLSearchParams, response: ServerResponse, { viewer, bearer }: Admitted): Promise<void> {
    const { access, detail } = this.#options;
    const object = { resource: query.get("resource") ?? "", namespace: query.get("namespace") ?? "", name: query.get("name") ?? "" };
    const asker: Asker = { mayList: (resource, namespace) => access.mayList(bearer, resource, namespace) };
    const found = viewer.rights.allows(object) ? await detail(object, asker) : undefined;
    // Who may not see an object does not learn whether there is one.
    if (!found) throw new RefusedRequest({ status: 404, error: "there is no such object, or you may not see it" });
    answerJson(response, 200, found);
  }
}

/** Nothing is written here, and so nothing is taken in. A body that nobody reads would keep the connection busy. */
function refuseUnlessReading({ method, headers }: IncomingMessage): void {
  const connection = { connection: "close" };
  if (method !== "GET" && method !== "HEAD") {
    throw new RefusedRequest({ status: 405, error: "only GET and HEAD are answered", headers: { ...connection, allow: "GET, HEAD" } });
  }
  if (headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined) {
    throw new RefusedRequest({ status: 413, error: "a request must not have a body", headers: connection });
  }
}

/** Browsers say where a request comes from; whoever does not is no browser. */
function isSameOrigin({ headers }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"];
  return site === undefined || site === "same-origin" || site === "none";
}

// The dashboard's HTTP server. It reads and never writes.

/** Where the server listens, and what it answers with. */
export interface DashboardServerOptions extends RequestHandlerOptions {
  /** Such as `:8082` or `127.0.0.1:0`. */
  readonly bindAddress: string;
}

/** A running server. */
export interface DashboardServer {
  /** `http://host:port/`. */
  readonly url: string;
  /** Ends every stream with a word, and closes. */
  close(): Promise<void>;
}

/** Tokens can have some kilobytes. */
const maxHeadersBytes = 32 * 1024;
/** How long streams may take to say that they end. */
const closeGraceMs = 500;

/** Starts it; rejects with a `UsageError` if the address cannot be had. */
export async function startDashboardServer(options: DashboardServerOptions): Promise<DashboardServer> {
  const address = parseBindAddress(options.bindAddress);
  if (address.type === "off") throw new UsageError("the dashboard needs an address to listen on, such as 127.0.0.1:8082");
  const { host, port } = address;
  const stop = new AbortController();
  const handler = new RequestHandler(options, { signal: stop.signal, isLoopback: isLoopback(host) });
  const limits = {
    headersTimeout: 10_000,
    requestTimeout: 10_000,
    connectionsCheckingInterval: 10_000,
    keepAliveTimeout: 15_000,
    maxHeaderSize: maxHeadersBytes,
  };
  const server = createServer(
    limits,
    oneAtATime((request, response) => {
      handler.answer({ request, response }).catch((error: unknown) => {
        options.log.error({ err: error }, "the dashboard could not answer a request");
        response.destroy();
      });
    }),
  );
  limitConnections(server, 2 * (options.maxStreams ?? defaultMaxStreams));
  server.listen({ port, ...(host !== undefined && { host }) });
  try {
    await once(server, "listening");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`cannot listen on ${options.bindAddress} for the dashboard: ${reason}; choose another address`, { cause: error });
  }
  return {
    url: urlOf(server, host),
    async close() {
      stop.abort();
      await closed(server);
    },
  };
}

function urlOf(server: Server, host = "127.0.0.1"): string {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}/`;
}

/** Streams say that they end; whoever does not hear it is cut off. */
async function closed(server: Server): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), closeGraceMs);
  await ended;
  clearTimeout(cut);
}

function isLoopback(host: string | undefined): boolean {
  return host === "localhost" || host === "::1" || host?.startsWith("127.") === true;
}
