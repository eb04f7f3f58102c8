// A proxy between an operator and its API server that disturbs their talk on demand.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createTcpServer, type Server, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { TLSSocket } from "node:tls";
import { parseDocument } from "yaml";
import { clusterFilesIn, readConnection } from "../cluster/cluster-access.ts";
import { freePort } from "../cluster/server-process.ts";
import { issueCertificate } from "../../x509.ts";
import {
  type CertifiedUser,
  type CutManner,
  Exchange,
  matches,
  openUpstream,
  requestLine,
  type RequestLine,
  type RequestMatch,
  type Upstream,
} from "./exchange.ts";
import { CutConnection, type Fault, type FaultScope, type Handler, scopeOf } from "./faults.ts";

/** A request that came to the proxy; `status` is what the client was answered, absent until then. */
export type RequestRecord = RequestLine & { readonly status?: number };

/** A fault at work. */
export interface ActiveFault extends Disposable {
  /** How many requests it has met. */
  readonly hits: number;
  /** Ends the fault. */
  remove(): void;
}

/** Something that lasts until it is undone. */
export interface Disturbance extends Disposable {
  undo(): void;
}

const portAttempts = 5;

/** Starts a proxy in front of the cluster in `folder`. Bearer tokens and client certificates work through it as they do without. */
export async function startFaultProxy({ folder }: { readonly folder: string }): Promise<FaultProxy> {
  for (let attempt = 1; ; attempt++) {
    const proxy = new FaultProxy(folder, await freePort());
    try {
      await proxy.listen();
      return proxy;
    } catch (error) {
      await proxy.stop();
      // Between our look and now somebody else may have taken the port.
      if (attempt === portAttempts) throw error;
    }
  }
}

/** A running fault proxy. */
export class FaultProxy implements AsyncDisposable {
  /** Where clients connect to instead of the API server; same authority. */
  readonly url: string;
  readonly #folder: string;
  readonly #port: number;
  readonly #upstream: Upstream;
  readonly #tls: ReturnType<typeof createTlsServer>;
  readonly #tcp: Server;
  /** Open connections by the client's port, for resets happen below TLS. */
  readonly #sockets = new Map<number, Socket>();
  readonly #live = new Set<Exchange>();
  readonly #stalls = new Set<RequestMatch>();
  #faults: readonly { readonly fault: Fault; hits: number }[] = [];
  readonly #records: (RequestLine & { status?: number })[] = [];
  readonly #failures: unknown[] = [];

  constructor(folder: string, port: number) {
    const connection = readConnection(clusterFilesIn(folder));
    const serving = issueCertificate(connection.authority, { usage: "server", commonName: "fault-proxy", hosts: ["127.0.0.1", "localhost"] });
    this.#folder = folder;
    this.#port = port;
    this.url = `https://127.0.0.1:${port}`;
    this.#upstream = openUpstream(connection);
    this.#tls = createTlsServer({
      cert: serving.certificate,
      key: serving.privateKey,
      ca: connection.authority.certificate,
      requestCert: true,
      rejectUnauthorized: false,
      requestTimeout: 0,
      // Only faults end connections: one that is closed for idleness could lose a write.
      keepAliveTimeout: 0,
    });
    this.#tls.on("request", (incoming, outgoing) => void this.#serve(incoming, outgoing));
    this.#tcp = createTcpServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  /** A copy of a kubeconfig that goes through this proxy; returns its path. */
  through(kubeconfig: string): string {
    const document = parseDocument(readFileSync(kubeconfig, "utf8"));
    document.setIn(["clusters", 0, "cluster", "server"], this.url);
    const file = clusterFilesIn(this.#folder).kubeconfig(`proxied-${randomUUID().slice(0, 8)}`);
    writeFileSync(file, document.toString(), { mode: 0o600 });
    return file;
  }

  /** Lets a fault work on requests from now on. Faults work in the order in which they were injected, the first one nearest to the client. */
  inject(fault: Fault): ActiveFault {
    const entry = { fault, hits: 0 };
    this.#faults = [...this.#faults, entry];
    const remove = (): void => void (this.#faults = this.#faults.filter((other) => other !== entry));
    return {
      get hits() {
        return entry.hits;
      },
      remove,
      [Symbol.dispose]: remove,
    };
  }

  /** Cuts the connections of matching exchanges that are under way now, at most `limit` of them (default all). Returns how many it cut. */
  cut(match: RequestMatch = {}, { manner = "reset", limit = Infinity }: { readonly manner?: CutManner; readonly limit?: number } = {}): number {
    const chosen = [...this.#live].filter(({ line }) => matches(match, line)).slice(0, limit);
    for (const exchange of chosen) {
      this.#live.delete(exchange);
      exchange.cut(manner);
    }
    return chosen.length;
  }

  /** Holds everything that matches, under way or to come: connections stay open and no byte passes until it is undone. */
  stall(match: RequestMatch = {}): Disturbance {
    this.#stalls.add(match);
    for (const exchange of this.#live) if (matches(match, exchange.line)) exchange.gate.shut();
    const undo = (): void => {
      this.#stalls.delete(match);
      for (const exchange of this.#live) if (!this.#isStalled(exchange.line)) exchange.gate.open();
    };
    return { undo, [Symbol.dispose]: undo };
  }

  /** Stops listening: new connections are refused, open ones go on. */
  async refuseConnections(): Promise<void> {
    if (!this.#tcp.listening) return;
    this.#tcp.close();
    await new Promise(setImmediate);
  }

  /** Listens (again). */
  async listen(): Promise<void> {
    if (this.#tcp.listening) return;
    this.#tcp.listen(this.#port, "127.0.0.1");
    await once(this.#tcp, "listening");
  }

  /** The requests so far that match, in the order in which they came. */
  requests(match: RequestMatch = {}): readonly RequestRecord[] {
    return this.#records.filter((record) => matches(match, record));
  }

  /** How many exchanges that match are under way. */
  underWay(match: RequestMatch = {}): number {
    return [...this.#live].filter(({ line }) => matches(match, line)).length;
  }

  /** Cuts everything and ends. Rejects if a fault itself failed, such as a write hook that threw. */
  async stop(): Promise<void> {
    if (this.#tcp.listening) this.#tcp.close();
    for (const socket of this.#sockets.values()) socket.destroy();
    this.#upstream.close();
    this.#tls.closeAllConnections();
    if (this.#failures.length > 0) throw new AggregateError(this.#failures, "faults of the proxy failed themselves");
    await Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #accept(socket: Socket): void {
    const port = socket.remotePort ?? 0;
    this.#sockets.set(port, socket);
    // The port may be another connection's by now.
    socket.once("close", () => void (this.#sockets.get(port) === socket && this.#sockets.delete(port)));
    this.#tls.emit("connection", socket);
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const line = requestLine(incoming.method ?? "GET", incoming.url ?? "/");
    const record: RequestLine & { status?: number } = { method: line.method, path: line.path, isWatch: line.isWatch, isWrite: line.isWrite };
    this.#records.push(record);
    const exchange = new Exchange(record, outgoing, this.#sockets.get(incoming.socket.remotePort ?? 0));
    this.#live.add(exchange);
    outgoing.once("close", () => this.#live.delete(exchange));
    if (this.#isStalled(line)) exchange.gate.shut();
    try {
      const request = { ...line, headers: incoming.headers, body: await buffer(incoming) };
      await exchange.gate.passed();
      const response = await this.#handlerFor(line, certifiedUser(incoming.socket), exchange.signal)(request);
      record.status = response.status;
      await exchange.relay(response);
    } catch (error) {
      if (!exchange.signal.aborted && !isLostConnection(error)) this.#failures.push(error);
      exchange.cut();
    }
  }

  #handlerFor(line: RequestLine, identity: CertifiedUser | undefined, signal: AbortSignal): Handler {
    const forward: Handler = (request) => this.#upstream.forward(request, identity, signal);
    return this.#faults.reduceRight<Handler>((next, entry) => {
      const { fault } = entry;
      if (!matches(fault.on, line) || entry.hits >= (fault.times ?? Infinity)) return next;
      entry.hits++;
      return (request) => fault.intervene(request, next);
    }, forward);
  }

  #isStalled(line: RequestLine): boolean {
    return [...this.#stalls].some((match) => matches(match, line));
  }
}

/** The API server went away in the middle, or a fault asked for the cut: the client sees just that, and nothing is wrong with the proxy. */
function isLostConnection(error: unknown): boolean {
  return (
    error instanceof CutConnection ||
    (error instanceof Error && "code" in error && (error.code === "ECONNRESET" || error.code === "ERR_STREAM_PREMATURE_CLOSE"))
  );
}

function certifiedUser(socket: Socket): CertifiedUser | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const { subject } = socket.getPeerCertificate();
  return subject ? { user: [subject.CN].flat()[0] ?? "", groups: [subject.O ?? []].flat() } : undefined;
}

// A fault that calls back around the n-th write: the place to kill an operator between two of its writes.

/** Before the API server hears of the write, or after it answered and before the client hears of that. */
export type WriteMoment = "before" | "after";

/** Calls `callback` at the given moment of the `n`-th matching write (the first is 1) and holds the write until it has run. */
export function onWrite(n: number, moment: WriteMoment, callback: () => void | Promise<void>, scope: FaultScope = {}): Fault {
  let writes = 0;
  return {
    ...scopeOf({ ...scope, write: true }),
    async intervene(request, next) {
      writes++;
      const isIt = writes === n;
      if (isIt && moment === "before") await callback();
      const response = await next(request);
      if (isIt && moment === "after") await callback();
      return response;
    },
  };
}
