// One request and its response on their way through the fault proxy: can be stalled and cut at any moment.
import { once } from "node:events";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import type { ClusterConnection } from "../cluster/cluster-access.ts";
import { frontProxyUser } from "../cluster/servers.ts";
import { issueCertificate } from "../../x509.ts";
import { CutConnection, type Fault, type FaultScope, type ProxyResponse, scopeOf } from "./faults.ts";

// A request on its way through the fault proxy, and which requests a fault is about.

/** A request as the proxy got it. */
export interface ProxiedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The whole body; requests to an API server are small. */
  readonly body: Buffer;
  readonly isWatch: boolean;
  /** POST, PUT, PATCH or DELETE. Reviews of rights and tokens count as writes too, by their method. */
  readonly isWrite: boolean;
}

/** Selects requests: all given parts must fit; an empty match selects every request. */
export interface RequestMatch {
  readonly method?: string | readonly string[];
  /** Tested against path and query. */
  readonly path?: RegExp;
  /** True for watches only, false for anything else. */
  readonly watch?: boolean;
  /** True for writes only, false for reads. */
  readonly write?: boolean;
}

/** What is known of a request without its body. */
export type RequestLine = Pick<ProxiedRequest, "method" | "path" | "isWatch" | "isWrite">;

/** Whether `request` is one of those that `match` selects. */
export function matches({ method, path, watch, write }: RequestMatch, request: RequestLine): boolean {
  return (
    (method === undefined || [method].flat().includes(request.method)) &&
    (path === undefined || path.test(request.path)) &&
    (watch === undefined || watch === request.isWatch) &&
    (write === undefined || write === request.isWrite)
  );
}

/** Reads the first line of a request. */
export function requestLine(method: string, path: string): RequestLine & Pick<ProxiedRequest, "query"> {
  const query = new URL(path, "https://proxy").searchParams;
  const isWatch = method === "GET" && ["true", "1"].includes(query.get("watch") ?? "");
  return { method, path, query, isWatch, isWrite: ["POST", "PUT", "PATCH", "DELETE"].includes(method) };
}

/** How a connection ends: `reset` as when a machine or a NAT in between goes away, `close` as when a server exits. */
export type CutManner = "reset" | "close";

/** An exchange under way. Its connection's end aborts `signal`. */
export class Exchange {
  readonly line: RequestLine;
  /** Shut while the exchange is stalled. */
  readonly gate = new Gate();
  readonly #response: ServerResponse;
  readonly #socket: Socket | undefined;
  readonly #ended = new AbortController();

  /** `socket`: the one below TLS, which alone can be reset; undefined if it has gone already. */
  constructor(line: RequestLine, response: ServerResponse, socket: Socket | undefined) {
    this.line = line;
    this.#response = response;
    this.#socket = socket;
    response.once("close", () => {
      this.#ended.abort();
      this.gate.open();
    });
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Breaks the client's connection. */
  cut(manner: CutManner = "reset"): void {
    if (!this.#socket) this.#response.destroy();
    else if (manner === "reset") this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }

  /** Passes the answer on, piece by piece as it comes, waiting at the gate before each. */
  async relay({ status, headers, body }: ProxyResponse): Promise<void> {
    await this.gate.passed();
    this.#response.writeHead(
      status,
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? value : [...value]])),
    );
    this.#response.flushHeaders();
    for await (const chunk of body) {
      await this.gate.passed();
      this.signal.throwIfAborted();
      if (!this.#response.write(chunk)) await once(this.#response, "drain", { signal: this.signal });
    }
    await this.gate.passed();
    this.#response.end();
  }
}

// The proxy's side towards the API server: passes requests on as the client that sent them.

/** Who a client's certificate says it is. */
export interface CertifiedUser {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Sends a request to the API server; the signal ends it. Throws `CutConnection` if there is no answer. */
type Forward = (request: ProxiedRequest, identity: CertifiedUser | undefined, signal: AbortSignal) => Promise<ProxyResponse>;

/** An open way to the API server. */
export interface Upstream {
  readonly forward: Forward;
  close(): void;
}

/** Headers that are about one connection, not about the message. */
const hopByHop = new Set(["connection", "keep-alive", "transfer-encoding", "content-length", "host", "upgrade", "proxy-connection"]);

/**
 * Opens the way to the cluster's API server. Bearer tokens pass as they are. A client certificate ends at the proxy, so its name is passed on in
 * headers over a connection on which the proxy proves that it may do so; tokens need another connection, on which the proxy is nobody.
 */
export function openUpstream({ url, authority }: ClusterConnection): Upstream {
  const frontProxy = issueCertificate(authority, { usage: "client", commonName: frontProxyUser });
  // Idle connections are given up well before the API server does so (90 s), else a write could run into one that is just being closed.
  const shared = { ca: authority.certificate, keepAlive: true, noDelay: true, timeout: 30_000 };
  const anonymous = new Agent(shared);
  const trusted = new Agent({ ...shared, cert: frontProxy.certificate, key: frontProxy.privateKey });
  const forward: Forward = (request, identity, signal) =>
    new Promise((resolve, reject) => {
      const headers = endToEnd(request.headers);
      if (identity) Object.assign(headers, { "x-remote-user": identity.user, "x-remote-group": [...identity.groups] });
      // Events inside a compressed stream could not be dropped.
      delete headers["accept-encoding"];
      if (request.body.length > 0) headers["content-length"] = String(request.body.length);
      const outgoing = httpsRequest(new URL(request.path, url), { method: request.method, headers, agent: identity ? trusted : anonymous, signal });
      // A connection that is on its way back to its agent when its exchange is cut has no listener of Node's own for a moment.
      outgoing.once("socket", (socket) => void (socket.listeners("error").includes(ignore) || socket.on("error", ignore)));
      outgoing.once("response", (incoming) => {
        // A request that is ended after its answer has begun fails a second time; whoever reads the body hears of it.
        incoming.on("error", ignore);
        resolve({ status: incoming.statusCode ?? 502, headers: endToEnd(incoming.headers), body: incoming as AsyncIterable<Uint8Array> });
      });
      outgoing.on("error", (cause) => reject(new CutConnection(`the API server gave no answer: ${cause.message}`)));
      outgoing.end(request.body);
    });
  return {
    forward,
    close() {
      anonymous.destroy();
      trusted.destroy();
    },
  };
}

function ignore(): void {}

function endToEnd(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !hopByHop.has(name) && !name.startsWith("x-remote-")) kept[name] = value;
  }
  return kept;
}

// Faults inside a watch: events that the API server sent and the client never gets.

/** An event as it stands on a line of a watch. */
export interface WatchLine {
  readonly type: string;
  readonly object: {
    readonly kind?: string;
    readonly metadata?: {
      readonly name?: string;
      readonly namespace?: string;
      readonly resourceVersion?: string;
      readonly annotations?: Readonly<Record<string, string>>;
    };
  };
}

/** Drops the events that `isDropped` picks from watches opened after this. A `times` in the scope counts watches. */
export function dropEvents(isDropped: (event: WatchLine) => boolean, scope: FaultScope = {}): Fault {
  return {
    ...scopeOf({ ...scope, watch: true }),
    async intervene(request, next) {
      const response = await next(request);
      return response.status === 200 ? { ...response, body: withoutEvents(response.body, isDropped) } : response;
    },
  };
}

/** Drops the bookmark that ends the initial events, so that a WatchList never completes. */
export function withholdEndBookmark(scope: FaultScope = {}): Fault {
  return dropEvents(({ type, object }) => type === "BOOKMARK" && object.metadata?.annotations?.["k8s.io/initial-events-end"] === "true", scope);
}

async function* withoutEvents(body: AsyncIterable<Uint8Array>, isDropped: (event: WatchLine) => boolean): AsyncGenerator<Uint8Array> {
  const newline = 0x0a;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      const line = rest.subarray(0, end + 1);
      rest = rest.subarray(end + 1);
      if (!isDropped(JSON.parse(line.toString()) as WatchLine)) yield line;
    }
  }
  if (rest.length > 0) yield rest;
}

// A gate that can be shut and opened again: what waits before it goes on when it opens.

/** Open at first. */
class Gate {
  #opening: PromiseWithResolvers<void> | undefined;

  /** Resolves at once while the gate is open, else when it opens. */
  passed(): Promise<void> {
    return this.#opening?.promise ?? Promise.resolve();
  }

  shut(): void {
    this.#opening ??= Promise.withResolvers();
  }

  open(): void {
    this.#opening?.resolve();
    this.#opening = undefined;
  }
}
