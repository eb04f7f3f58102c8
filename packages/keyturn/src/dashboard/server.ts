// The dashboard's HTTP server: the page's files, and below api/ the stream of records and the details of one object. It reads and never writes.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIP } from "node:net";
import { eventStreamPath, type Hello, type ObjectDetail, type Refusal, type Session, sessionPath } from "@keyturn/dashboard/contract";
import { type Clock, type Logger, type MetricsOf, parseBindAddress } from "@keyturn/runtime";
import { UsageError } from "../flags/flag.ts";
import type { AccessCheck, AccessVerdict, Viewer } from "./access-check.ts";
import type { dashboardMetrics } from "./metrics.ts";
import { type StreamEnd, streamPage } from "./page-stream.ts";
import type { RecordStore } from "./record-store.ts";
import { RequestLimit, type RequestRates, usualRates } from "./request-limits.ts";
import type { Place } from "./rights.ts";
import { securityHeaders } from "./security-headers.ts";
import { encodedFile, indexPath, type StaticFiles } from "./static-files.ts";

/** An object that somebody asks about. */
export interface AskedObject extends Place {
  readonly name: string;
}

/** Somebody who asks, and what they may know besides. */
export interface Asker {
  mayList(resource: { readonly group: string; readonly plural: string }, namespace: string): Promise<boolean>;
}

/** What the server is made with. */
export interface DashboardServerOptions {
  /** Such as `:8082` or `127.0.0.1:0`. */
  readonly bindAddress: string;
  readonly files: StaticFiles;
  readonly store: RecordStore;
  readonly access: AccessCheck;
  /** The details of an object; undefined if there is none. */
  readonly detail: (object: AskedObject, asker: Asker) => Promise<ObjectDetail | undefined>;
  readonly version: string;
  /** What is looked at, and where. */
  readonly shown: Pick<Hello, "cluster" | "namespaces">;
  readonly metrics: MetricsOf<typeof dashboardMetrics>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly rates?: RequestRates;
  /** For tests: how often a stream ticks, and how long a page may read nothing. */
  readonly streamTimes?: { readonly tickMs?: number; readonly stallMs?: number };
  /** Default 2000. */
  readonly mostStreams?: number;
}

/** A running server. */
export interface DashboardServer {
  /** `http://host:port/`. */
  readonly url: string;
  /** Ends every stream with a word, and closes. */
  close(): Promise<void>;
}

/** Tokens can have some kilobytes. */
const largestHeadersBytes = 32 * 1024;
const usualMostStreams = 2000;
const closeGraceMs = 500;

/** Starts it; rejects with a `UsageError` if the address cannot be had. */
export async function startDashboardServer(options: DashboardServerOptions): Promise<DashboardServer> {
  const address = parseBindAddress(options.bindAddress);
  if (address.type === "off") throw new UsageError("the dashboard needs an address to listen on, such as 127.0.0.1:8082");
  const { host, port } = address;
  const stop = new AbortController();
  const handler = new RequestHandler(options, { signal: stop.signal, isLoopback: isLoopback(host) });
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 15_000, maxHeaderSize: largestHeadersBytes },
    (request, response) => {
      handler.answer(request, response).catch((error: unknown) => {
        options.log.error({ err: error }, "the dashboard could not answer a request");
        response.destroy();
      });
    },
  );
  server.maxConnections = 2 * (options.mostStreams ?? usualMostStreams);
  server.listen({ port, ...(host !== undefined && { host }) });
  try {
    await once(server, "listening");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`cannot listen on ${options.bindAddress} for the dashboard: ${reason}; choose another address`, { cause: error });
  }
  const bound = server.address();
  const boundPort = typeof bound === "object" && bound !== null ? bound.port : port;
  const shownHost = host === undefined ? "127.0.0.1" : isIP(host) === 6 ? `[${host}]` : host;
  return {
    url: `http://${shownHost}:${boundPort}/`,
    async close() {
      stop.abort();
      await closed(server);
    },
  };
}

/** Streams have said that they end; whoever does not hear it is cut off. */
async function closed(server: Server): Promise<void> {
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), closeGraceMs);
  await ended;
  clearTimeout(cut);
}

function isLoopback(host: string | undefined): boolean {
  return host === "localhost" || host === "::1" || host?.startsWith("127.") === true;
}

class RequestHandler {
  readonly #options: DashboardServerOptions;
  readonly #signal: AbortSignal;
  readonly #isLoopback: boolean;
  readonly #requests: RequestLimit;
  readonly #failures: RequestLimit;
  #streams = 0;

  constructor(options: DashboardServerOptions, { signal, isLoopback: loopback }: { readonly signal: AbortSignal; readonly isLoopback: boolean }) {
    this.#options = options;
    this.#signal = signal;
    this.#isLoopback = loopback;
    const { clock, rates = usualRates } = options;
    this.#requests = new RequestLimit(rates.requests, clock);
    this.#failures = new RequestLimit(rates.failures, clock);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    const client = request.socket.remoteAddress ?? "";
    const url = URL.parse(request.url ?? "/", "http://dashboard");
    if (!url) return this.#refuse(response, 400, "the address cannot be read");
    if (!this.#isForUs(request)) return this.#refuse(response, 421, "this server answers only to the name of the machine that it runs on", "host");
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      // A body that nobody reads would keep the connection busy.
      response.setHeader("connection", "close");
      return this.#refuse(response, 405, "only GET and HEAD are answered");
    }
    if (request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined) {
      response.setHeader("connection", "close");
      return this.#refuse(response, 413, "a request must not have a body");
    }
    if (!this.#requests.take(client)) return this.#refuseForNow(response, this.#requests, "too many requests");
    const path = url.pathname.slice(1);
    if (!path.startsWith("api/")) return this.#file(path, request, response);
    if (!isSameOrigin(request)) return this.#refuse(response, 403, "other pages may not ask", "host");
    if (path === sessionPath) return this.#session(response);
    if (path !== eventStreamPath && path !== "api/object") return this.#refuse(response, 404, "there is no such address");
    const bearer = bearerOf(request);
    const viewer = await this.#viewer(bearer, { client, response });
    if (!viewer) return undefined;
    if (path === eventStreamPath) return this.#stream(request, response, { bearer, viewer });
    return this.#object(url.searchParams, response, { bearer, viewer });
  }

  /** A page of another site can make this machine's browser ask here under a name of its own; that name is in the request. */
  #isForUs({ headers: { host = "" }, socket: { localPort } }: IncomingMessage): boolean {
    if (!this.#isLoopback) return true;
    return ["127.0.0.1", "localhost", "[::1]"].some((name) => host === `${name}:${localPort}`);
  }

  async #viewer(
    bearer: string,
    { client, response }: { readonly client: string; readonly response: ServerResponse },
  ): Promise<Viewer | undefined> {
    const { access } = this.#options;
    if (bearer === "") return void this.#unauthorized(response, "a token is needed");
    let verdict: AccessVerdict | undefined = access.known(bearer);
    if (verdict?.type !== "allowed") {
      // Only those whose token is not known to be good are slowed down: behind the same address others go on.
      if (!this.#failures.allows(client)) return void this.#refuseForNow(response, this.#failures, "too many tokens that are not good");
      verdict = await access.check(bearer);
      if (verdict.type === "unknown" || verdict.type === "forbidden") this.#failures.take(client);
    }
    switch (verdict.type) {
      case "allowed":
        return verdict.viewer;
      case "forbidden":
        return void this.#refuse(response, 403, verdict.message, "rights");
      case "unavailable":
        response.setHeader("retry-after", "5");
        return void this.#refuse(response, 503, verdict.message, "unavailable");
      case "unknown":
      default:
        return void this.#unauthorized(response, access.access === "token" ? "the token is not good, or no longer" : "the secret in the address is not good; open the address that was printed");
    }
  }

  async #stream(
    request: IncomingMessage,
    response: ServerResponse,
    { bearer, viewer }: { readonly bearer: string; readonly viewer: Viewer },
  ): Promise<void> {
    const { store, clock, access, metrics, shown, streamTimes, mostStreams = usualMostStreams } = this.#options;
    if (this.#streams >= mostStreams) {
      response.setHeader("retry-after", "10");
      return this.#refuse(response, 503, "as many pages as may are open", "full");
    }
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no" });
    if (request.method === "HEAD") return void response.end();
    request.socket.setNoDelay(true);
    response.flushHeaders();
    const rights = async () => {
      const verdict = await access.check(bearer);
      if (verdict.type === "allowed") return verdict.viewer.rights;
      // While nobody can be asked, nobody can have taken the token back either.
      return verdict.type === "unavailable" ? viewer.rights : undefined;
    };
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
          rights,
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

  async #object(
    query: URLSearchParams,
    response: ServerResponse,
    { bearer, viewer }: { readonly bearer: string; readonly viewer: Viewer },
  ): Promise<void> {
    const object = { resource: query.get("resource") ?? "", namespace: query.get("namespace") ?? "", name: query.get("name") ?? "" };
    // Who may not see an object is not told whether there is one.
    const detail = viewer.rights.allows(object)
      ? await this.#options.detail(object, { mayList: (resource, namespace) => this.#options.access.mayList(bearer, resource, namespace) })
      : undefined;
    if (!detail) return this.#refuse(response, 404, "there is no such object, or you may not see it");
    this.#json(response, 200, detail);
  }

  #session(response: ServerResponse): void {
    const { access, version, store } = this.#options;
    this.#json(response, 200, { access: access.access, version, bootId: store.bootId } satisfies Session);
  }

  #file(path: string, request: IncomingMessage, response: ServerResponse): void {
    const { files } = this.#options;
    if (files.size === 0) return this.#refuse(response, 503, "the page has not been built; run make build in the checkout");
    const file = files.get(path === "" ? indexPath : path);
    if (!file) return this.#refuse(response, 404, "there is no such file");
    const accepted = request.headers["accept-encoding"];
    const { encoding, bytes } = encodedFile(file, typeof accepted === "string" ? accepted : "");
    response.setHeader("etag", file.etag);
    response.setHeader("vary", "accept-encoding");
    response.setHeader("cache-control", file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache");
    if (request.headers["if-none-match"] === file.etag) return void response.writeHead(304).end();
    response.setHeader("content-type", file.contentType);
    if (encoding !== undefined) response.setHeader("content-encoding", encoding);
    response.setHeader("content-length", bytes.length);
    response.writeHead(200).end(request.method === "HEAD" ? undefined : bytes);
  }

  #unauthorized(response: ServerResponse, error: string): void {
    response.setHeader("www-authenticate", 'Bearer realm="keyturn"');
    this.#refuse(response, 401, error, "token");
  }

  #refuseForNow(response: ServerResponse, limit: RequestLimit, error: string): void {
    response.setHeader("retry-after", String(limit.retryAfterSeconds));
    this.#refuse(response, 429, error, "rate");
  }

  #refuse(response: ServerResponse, status: number, error: string, reason?: string): void {
    if (reason !== undefined) this.#options.metrics.keyturn_dashboard_refused_total.inc({ reason });
    this.#json(response, status, { error } satisfies Refusal);
  }

  #json(response: ServerResponse, status: number, body: object): void {
    const text = JSON.stringify(body);
    response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store", "content-length": Buffer.byteLength(text) });
    response.end(response.req.method === "HEAD" ? undefined : text);
  }
}

/** Browsers say where a request comes from; whoever does not is no browser. */
function isSameOrigin({ headers }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"];
  return site === undefined || site === "same-origin" || site === "none";
}

function bearerOf({ headers: { authorization = "" } }: IncomingMessage): string {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? "";
}
