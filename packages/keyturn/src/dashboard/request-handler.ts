// Answers the dashboard's requests: the page's files, and below api/ the stream of records and the details of one object.
import type { IncomingMessage, ServerResponse } from "node:http";
import { eventStreamPath, type Hello, type ObjectDetail, type Refusal, type Session, sessionPath } from "@keyturn/dashboard/contract";
import type { Clock, Logger, MetricsOf } from "@keyturn/runtime";
import type { AccessCheck, Viewer } from "./access-check.ts";
import { answerFile, answerJson } from "./answers.ts";
import type { dashboardMetrics } from "./metrics.ts";
import { type StreamEnd, streamPage } from "./page-stream.ts";
import type { RecordStore } from "./record-store.ts";
import { RefusedRequest, refusedForNow } from "./refused-request.ts";
import { RequestLimit, type RequestRates, usualRates } from "./request-limits.ts";
import type { Place } from "./rights.ts";
import { securityHeaders } from "./security-headers.ts";
import type { StaticFiles } from "./static-files.ts";
import { bearerOf, rightsOverTime, ViewerGate } from "./viewer-gate.ts";

/** An object that somebody asks about. */
export interface AskedObject extends Place {
  readonly name: string;
}

/** Somebody who asks, and what they may know besides. */
export interface Asker {
  mayList(resource: { readonly group: string; readonly plural: string }, namespace: string): Promise<boolean>;
}

/** What requests are answered with. */
export interface RequestHandlerOptions {
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

/** Pages that may be open at a time. */
export const usualMostStreams = 2000;

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
export class RequestHandler {
  readonly #options: RequestHandlerOptions;
  readonly #signal: AbortSignal;
  readonly #isLoopback: boolean;
  readonly #requests: RequestLimit;
  readonly #gate: ViewerGate;
  #streams = 0;

  /** `isLoopback`: only this machine can reach the server. */
  constructor(options: RequestHandlerOptions, { signal, isLoopback }: { readonly signal: AbortSignal; readonly isLoopback: boolean }) {
    this.#options = options;
    this.#signal = signal;
    this.#isLoopback = isLoopback;
    const { clock, access, rates = usualRates } = options;
    this.#requests = new RequestLimit(rates.requests, clock);
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
    const bearer = bearerOf(request);
    const admitted = { bearer, viewer: await this.#gate.enter(bearer, client) };
    return path === eventStreamPath ? this.#stream(exchange, admitted) : this.#object(url.searchParams, response, admitted);
  }

  /** A page of another site can make this machine's browser ask here under a name of its own; that name is in the request. */
  #isForUs({ headers: { host = "" }, socket: { localPort } }: IncomingMessage): boolean {
    return !this.#isLoopback || ["127.0.0.1", "localhost", "[::1]"].some((name) => host === `${name}:${localPort}`);
  }

  async #stream({ request, response }: Exchange, { viewer, bearer }: Admitted): Promise<void> {
    const { store, access, clock, metrics, shown, streamTimes, mostStreams = usualMostStreams } = this.#options;
    if (this.#streams >= mostStreams) throw refusedForNow(503, "full", { error: "as many pages as may are open", retryAfterSeconds: 10 });
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
          rights: rightsOverTime(access, bearer, viewer.rights),
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
    // Who may not see an object is not told whether there is one.
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
