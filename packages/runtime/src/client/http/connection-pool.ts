// The connections to one server under one set of TLS material; watches have a pool apart from requests.
import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";
import type { TlsMaterial } from "../auth/credentials.ts";
import type { Lane } from "../transport.ts";
import { Connection, type ConnectionOwner, type Exchange } from "./connection.ts";
import { openSocket, type SocketTarget } from "./open-socket.ts";

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
}

/** Below the 90 s after which Go servers close an idle connection, so that it is mostly we who close. */
const idleMs = 60_000;

/** HTTP/1.1 gives every request in flight a connection of its own, so the limit is that of requests in flight. */
const limits: Readonly<Record<Lane, { readonly most: number; readonly maxIdle: number }>> = {
  call: { most: 64, maxIdle: 64 },
  watch: { most: Infinity, maxIdle: 4 },
  lease: { most: 64, maxIdle: 4 },
};

/** Pools, each made when it is first used: most connections to other clusters are one watch and nothing else. */
export class LanePools {
  readonly #target: SocketTarget;
  readonly #pools = new Map<Lane, ConnectionPool>();

  /** Throws what OpenSSL throws if the TLS material is no good. */
  constructor(address: ServerAddress, material: TlsMaterial) {
    const { host, port, secure, tlsServerName, insecureSkipTlsVerify, proxyUrl } = address;
    const tls = secure && {
      // Made once here; given as PEM to a socket, it would be parsed anew for every connection.
      secureContext: secureContextOf(material),
      ...(tlsServerName && { serverName: tlsServerName }),
      ...(insecureSkipTlsVerify && { insecureSkipVerify: true }),
    };
    this.#target = { host, port, ...(tls && { tls }), ...(proxyUrl && { proxyUrl }) };
  }

  /** True while anything is under way. */
  get busy(): boolean {
    return this.#pools.values().some((pool) => pool.busy);
  }

  of(lane: Lane): ConnectionPool {
    const known = this.#pools.get(lane);
    if (known) return known;
    const pool = new ConnectionPool({ ...limits[lane], idleMs, open: (done) => openSocket(this.#target, done) });
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
interface PoolOptions {
  /** Opens a socket and hands it out, perhaps at once and still connecting; returns what cancels that. */
  readonly open: (done: (result: Socket | Error) => void) => () => void;
  /** Connections at the same time; further exchanges wait their turn. */
  readonly most: number;
  /** Connections that are kept while nothing is to be sent. */
  readonly maxIdle: number;
  /** How long one is kept so. */
  readonly idleMs: number;
}

/** Guarantees: at most `most` sockets; exchanges that wait are served in order; the connection used last is used next, so that the others can fall idle and close. */
export class ConnectionPool implements ConnectionOwner {
  readonly #options: PoolOptions;
  readonly #idle: Connection[] = [];
  readonly #busy = new Set<Connection>();
  readonly #opening = new Map<Exchange, () => void>();
  readonly #waiting = new Set<Exchange>();
  #maxIdle: number;
  /** True once the server has closed a connection, until one was opened for it. */
  #lost = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#maxIdle = options.maxIdle;
  }

  /** True while anything is under way. */
  get busy(): boolean {
    return this.#busy.size > 0 || this.#opening.size > 0 || this.#waiting.size > 0;
  }

  run(exchange: Exchange): void {
    const connection = this.#idle.pop();
    if (connection) this.#start(connection, exchange);
    else if (this.#busy.size + this.#opening.size < this.#options.most) this.#open(exchange);
    else this.#waiting.add(exchange);
  }

  /** Forgets an exchange that has not been sent. */
  cancel(exchange: Exchange): void {
    this.#waiting.delete(exchange);
    this.#opening.get(exchange)?.();
    if (this.#opening.delete(exchange)) this.#next();
  }

  /** The server was away and is back: if that cost this pool its connections, one is opened, so that the next exchange need not wait for it. */
  restore(): void {
    if (!this.#lost || this.busy || this.#idle.length > 0) return;
    this.#lost = false;
    this.#options.open((result) => {
      if (!(result instanceof Error)) this.onFree(new Connection(result, this, this.#options.idleMs));
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
    const unsent = [...this.#waiting, ...this.#opening.keys()];
    for (const cancel of this.#opening.values()) cancel();
    this.#waiting.clear();
    this.#opening.clear();
    this.dropIdle();
    for (const exchange of unsent) exchange.onFailure(reason, false);
    for (const connection of this.#busy) connection.abandon(reason);
  }

  onFree(connection: Connection): void {
    this.#busy.delete(connection);
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      this.#start(connection, next);
    } else if (this.#idle.length < this.#maxIdle) {
      this.#idle.push(connection);
    } else {
      connection.destroy();
    }
  }

  onGone(connection: Connection, byServer: boolean): void {
    this.#lost ||= byServer;
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    if (this.#busy.delete(connection)) this.#next();
  }

  #start(connection: Connection, exchange: Exchange): void {
    this.#busy.add(connection);
    connection.run(exchange);
  }

  #next(): void {
    const [next] = this.#waiting;
    if (!next) return;
    this.#waiting.delete(next);
    this.run(next);
  }

  #open(exchange: Exchange): void {
    let answered = false;
    const cancel = this.#options.open((result) => {
      answered = true;
      this.#opening.delete(exchange);
      if (result instanceof Error) {
        exchange.onFailure(result, false);
        this.#next();
      } else {
        this.#start(new Connection(result, this, this.#options.idleMs), exchange);
      }
    });
    if (!answered) this.#opening.set(exchange, cancel);
  }
}

// OpenSSL's form of TLS material, made once for as long as anybody uses it: each takes some 25 kB, and a process can talk to thousands of servers.

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
