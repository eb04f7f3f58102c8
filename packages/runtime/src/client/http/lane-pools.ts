// The connections to one server under one set of TLS material: a pool per lane.
import type { TlsMaterial } from "../auth/credentials.ts";
import { secureContextOf } from "../secure-contexts.ts";
import type { Lane } from "../transport.ts";
import { ConnectionPool } from "./connection-pool.ts";
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
const limits: Readonly<Record<Lane, { readonly most: number; readonly mostIdle: number }>> = {
  call: { most: 64, mostIdle: 64 },
  watch: { most: Infinity, mostIdle: 4 },
  lease: { most: 64, mostIdle: 4 },
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
