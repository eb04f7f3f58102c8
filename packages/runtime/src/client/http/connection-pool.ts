// The connections to one server under one set of TLS material; watches have a pool apart from requests.
import { constants, createHash } from "node:crypto";
import type { LookupFunction } from "node:net";
import { createSecureContext, DEFAULT_CIPHERS, type SecureContext } from "node:tls";
import type { Clock } from "../../clock.ts";
import type { TlsMaterial } from "../auth/credentials.ts";
import type { Lane } from "../transport.ts";
import { Connection, type ConnectionLimits, type ConnectionOwner, type Exchange } from "./connection.ts";
import { type OpenSocket, openSocket, type SocketTarget } from "./open-socket.ts";
import type { OnRead } from "./read-meter.ts";

/** What does not change about the connections. */
export interface ServerAddress {
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  /** The name to expect in the server's certificate; absent for the host. */
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify?: boolean;
  /** An http or https proxy to go through. */
  readonly proxyUrl?: string;
  /** The longest head of an answer. Default 256 KiB. */
  readonly maxHeadBytes?: number | undefined;
  /** See `HttpTransportOptions`. */
  readonly onRead?: OnRead;
  readonly lookup?: LookupFunction;
  readonly clock: Clock;
}

/** Below the 90 s after which Go servers close an idle connection, so that it is mostly we who close. */
const idleMs = 60_000;

/** HTTP/1.1 gives every request in flight a connection of its own, so the limit is that of requests in flight: of each flow, for whoever is slow must not slow others down. */
const limits: Readonly<Record<Lane, { readonly most: number; readonly maxIdle: number }>> = {
  call: { most: 64, maxIdle: 64 },
  watch: { most: Infinity, maxIdle: 4 },
  lease: { most: 64, maxIdle: 4 },
};

/** Pools, each made when it is first used: most connections to other clusters are one watch and nothing else. */
export class LanePools {
  readonly #target: SocketTarget;
  readonly #pools = new Map<Lane, ConnectionPool>();
  readonly #limits: ConnectionLimits;

  /** Throws what OpenSSL throws if the TLS material is no good. */
  constructor(address: ServerAddress, material: TlsMaterial) {
    const { host, port, secure, tlsServerName, insecureSkipTlsVerify, proxyUrl, onRead, lookup, clock } = address;
    const tls = secure && {
      // Made once here; given as PEM to a socket, it would be parsed anew for every connection.
      secureContext: secureContextOf(material),
      ...(tlsServerName && { serverName: tlsServerName }),
      ...(insecureSkipTlsVerify && { insecureSkipVerify: true }),
    };
    this.#limits = { idleMs, maxHeadBytes: address.maxHeadBytes };
    this.#target = { host, port, clock, ...(tls && { tls }), ...(proxyUrl && { proxyUrl }), ...(onRead && { onRead }), ...(lookup && { lookup }) };
  }

  /** True while anything is under way. */
  get busy(): boolean {
    return this.#pools.values().some((pool) => pool.busy);
  }

  of(lane: Lane): ConnectionPool {
    const known = this.#pools.get(lane);
    if (known) return known;
    const pool = new ConnectionPool({ ...limits[lane], ...this.#limits, open: (done) => openSocket(this.#target, done) });
    this.#pools.set(lane, pool);
    return pool;
  }

  /** The server has answered on one lane: the others may have lost their connections to it. */
  restore(): void {
    for (const pool of this.#pools.values()) pool.restore();
  }

  /** Closes idle connections now and busy ones when they become idle. */
  retire(): void {
    for (const pool of this.#pools.values()) pool.retire();
  }

  /** Closes all connections; what is under way fails with `reason`. */
  destroy(reason: Error): void {
    for (const pool of this.#pools.values()) pool.destroy(reason);
  }
}

// The connections to one server that one kind of request shares.

/** How a pool behaves. */
interface PoolOptions extends ConnectionLimits {
  /** Opens a socket and hands it out when it is ready; returns what cancels that. */
  readonly open: (done: (result: OpenSocket | Error) => void) => () => void;
  /** Connections of one flow at the same time; its further exchanges wait their turn. */
  readonly most: number;
  /** Connections that are kept while nothing is to be sent. */
  readonly maxIdle: number;
}

/**
 * Guarantees: a flow has at most `most` exchanges under way, and its others are sent in order; no flow waits for another's. The connection used last is used
 * next, so that the others can fall idle and close.
 */
export class ConnectionPool implements ConnectionOwner {
  readonly #options: PoolOptions;
  readonly #idle: Connection[] = [];
  readonly #busy = new Map<Connection, Exchange>();
  readonly #opening = new Map<Exchange, () => void>();
  readonly #flows = new Map<string, Flow>();
  #maxIdle: number;
  /** True once the server has closed a connection, until one was opened for it. */
  #lost = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#maxIdle = options.maxIdle;
  }

  /** True while anything is under way. */
  get busy(): boolean {
    return this.#flows.size > 0;
  }

  run(exchange: Exchange): void {
    const flow = this.#flows.get(exchange.flow) ?? { under: 0, waiting: new Set() };
    this.#flows.set(exchange.flow, flow);
    if (flow.under >= this.#options.most) return void flow.waiting.add(exchange);
    flow.under++;
    this.#dispatch(exchange);
  }

  /** Forgets an exchange that has no connection yet. */
  cancel(exchange: Exchange): void {
    this.#flows.get(exchange.flow)?.waiting.delete(exchange);
    this.#opening.get(exchange)?.();
    if (this.#opening.delete(exchange)) this.#over(exchange);
  }

  /** The server was away and is back: if that cost this pool its connections, one is opened, so that the next exchange need not wait for it. */
  restore(): void {
    if (!this.#lost || this.busy || this.#idle.length > 0) return;
    this.#lost = false;
    this.#options.open((result) => {
      if (!(result instanceof Error)) this.onFree(new Connection(result, this, this.#options));
    });
  }

  /** Closes the connections that are not in use. */
  dropIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  /** Closes idle connections now and busy ones when they become idle. */
  retire(): void {
    this.#maxIdle = 0;
    this.dropIdle();
  }

  /** Closes everything; every exchange under way fails with `reason`. */
  destroy(reason: Error): void {
    this.#maxIdle = 0;
    const unsent = [...this.#flows.values().flatMap(({ waiting }) => waiting), ...this.#opening.keys()];
    for (const cancel of this.#opening.values()) cancel();
    const busy = [...this.#busy.keys()];
    this.#flows.clear();
    this.#opening.clear();
    this.dropIdle();
    for (const exchange of unsent) exchange.onFailure(reason, false);
    for (const connection of busy) connection.abandon(reason);
  }

  onFree(connection: Connection): void {
    const flow = this.#busy.get(connection)?.flow;
    this.#busy.delete(connection);
    if (flow !== undefined) {
      for (let next = this.#waitingIn(flow); next; next = this.#waitingIn(flow)) if (this.#start(connection, next)) return;
      this.#leave(flow);
    }
    if (this.#idle.length < this.#maxIdle) this.#idle.push(connection);
    else connection.destroy();
  }

  onGone(connection: Connection, byServer: boolean): void {
    this.#lost ||= byServer;
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    const exchange = this.#busy.get(connection);
    this.#busy.delete(connection);
    if (exchange) this.#over(exchange);
  }

  /** Gives the exchange a connection, or the next one of its flow if it may no longer be sent. */
  #dispatch(first: Exchange): void {
    for (let exchange: Exchange | undefined = first; exchange; exchange = this.#waitingIn(exchange.flow)) {
      const connection = this.#idle.pop();
      if (!connection) return this.#open(exchange);
      if (this.#start(connection, exchange)) return;
      this.#idle.push(connection);
    }
    this.#leave(first.flow);
  }

  /** An exchange is over: the next one of its flow is sent in its place. */
  #over({ flow }: Exchange): void {
    const next = this.#waitingIn(flow);
    if (next) this.#dispatch(next);
    else this.#leave(flow);
  }

  #waitingIn(name: string): Exchange | undefined {
    const waiting = this.#flows.get(name)?.waiting;
    const [next] = waiting ?? [];
    if (next) waiting?.delete(next);
    return next;
  }

  #leave(name: string): void {
    const flow = this.#flows.get(name);
    if (flow && --flow.under === 0) this.#flows.delete(name);
  }

  #start(connection: Connection, exchange: Exchange): boolean {
    this.#busy.set(connection, exchange);
    if (connection.run(exchange)) return true;
    this.#busy.delete(connection);
    return false;
  }

  #open(exchange: Exchange): void {
    let answered = false;
    const cancel = this.#options.open((result) => {
      answered = true;
      this.#opening.delete(exchange);
      if (result instanceof Error) {
        exchange.onFailure(result, false);
        return this.#over(exchange);
      }
      const connection = new Connection(result, this, this.#options);
      if (this.#start(connection, exchange)) return;
      this.#idle.push(connection);
      this.#over(exchange);
    });
    if (!answered) this.#opening.set(exchange, cancel);
  }
}

/** The exchanges of one flow. */
interface Flow {
  /** How many have a connection, or one that is being opened. */
  under: number;
  /** Those for which there are too many under way. */
  readonly waiting: Set<Exchange>;
}

// OpenSSL's form of TLS material, made once for as long as anybody uses it: each takes some 25 kB, and a process can talk to thousands of servers.

/**
 * As Go's clients have it: no Diffie-Hellman in a field of the server's choice, which costs 0.6 s of processor time where it has 10,000 bits, and no second
 * handshake on a connection. Either lets a server keep this process from its other work.
 */
const ciphers = `${DEFAULT_CIPHERS}:!DHE`;

const certificateBegin = "-----BEGIN CERTIFICATE-----";
const contexts = new Map<string, WeakRef<SecureContext>>();
const forget = new FinalizationRegistry((id: string) => {
  if (contexts.get(id)?.deref() === undefined) contexts.delete(id);
});

/** The context of this material; the same one for the same material. Throws what OpenSSL throws if it is no good. */
export function secureContextOf({ ca, cert, key }: TlsMaterial): SecureContext {
  const id = createHash("sha256")
    .update(JSON.stringify([ca, cert, key]))
    .digest("base64url");
  const known = contexts.get(id)?.deref();
  if (known) return known;
  const context = createSecureContext({
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert: nothingAdded(cert) }),
    ...(key !== undefined && { key }),
    minVersion: "TLSv1.2",
    ciphers,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  });
  contexts.set(id, new WeakRef(context));
  forget.register(context, id);
  return context;
}

/**
 * To a client certificate that comes alone OpenSSL adds the authority that signed it, if it is among the trusted ones. The server then finds two ways
 * from the certificate to its root and checks a signature for each, with every request: that was a tenth of all the processor time of an API server
 * that our writes kept busy. What is given with a chain is sent as it is, so a certificate that comes alone is given with itself as its chain.
 */
function nothingAdded(cert: string): string {
  return cert.indexOf(certificateBegin) === cert.lastIndexOf(certificateBegin) ? `${cert}\n${cert}` : cert;
}
