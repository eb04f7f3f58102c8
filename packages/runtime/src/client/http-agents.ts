// The sockets to one server under one set of TLS material: a pool per lane.
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { TlsMaterial } from "./auth/credentials.ts";
import { secureContextOf } from "./secure-contexts.ts";
import type { Lane } from "./transport.ts";

/** What does not change about the connections. */
export interface AgentOptions {
  readonly secure: boolean;
  /** The name to expect in the server's certificate; absent for the host of the URL. */
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify?: boolean;
  /** An http or https proxy to go through. */
  readonly proxyUrl?: string;
}

/** A pool of sockets per lane. */
export interface LaneAgents {
  of(lane: Lane): HttpAgent;
  /** Closes the idle sockets of a lane. */
  dropIdle(lane: Lane): void;
  /** Closes idle sockets now and busy ones when they become idle. */
  retire(): void;
  /** True while a socket is in use. */
  readonly busy: boolean;
  /** Closes all sockets. */
  destroy(): void;
}

/** Below the 90 s after which Go servers close an idle connection, so that it is mostly we who close. */
const idleTimeoutMs = 60_000;
/** Dead peers are noticed by probes that start after this long a silence. */
const tcpKeepAliveMs = 15_000;

/** HTTP/1.1 gives every request in flight a socket of its own, so the limit is that of requests in flight. */
const limits: Readonly<Record<Lane, { readonly maxSockets: number; readonly maxFreeSockets: number }>> = {
  call: { maxSockets: 64, maxFreeSockets: 64 },
  watch: { maxSockets: Infinity, maxFreeSockets: 4 },
  lease: { maxSockets: 64, maxFreeSockets: 4 },
};

/** Opens the pools. Throws what OpenSSL throws if the TLS material is no good. */
export function createLaneAgents(options: AgentOptions, tls: TlsMaterial): LaneAgents {
  // Parsed once here; given as PEM to the agent, it would be parsed anew for every connection.
  const secureContext = options.secure ? secureContextOf(tls) : undefined;
  const open = (lane: Lane): HttpAgent => {
    const shared = {
      keepAlive: true,
      keepAliveMsecs: tcpKeepAliveMs,
      noDelay: true,
      // The most recently used first: the others may then fall idle and close.
      scheduling: "lifo" as const,
      timeout: idleTimeoutMs,
      ...limits[lane],
      ...(options.proxyUrl && { proxyEnv: { HTTP_PROXY: options.proxyUrl, HTTPS_PROXY: options.proxyUrl } }),
    };
    if (!secureContext) return new HttpAgent(shared);
    return new HttpsAgent({
      ...shared,
      secureContext,
      rejectUnauthorized: !options.insecureSkipTlsVerify,
      ...(options.tlsServerName && { servername: options.tlsServerName }),
    });
  };
  // Only those that are used: most connections to other clusters are one watch and nothing else.
  const agents = new Map<Lane, HttpAgent>();
  return {
    of(lane) {
      const agent = agents.get(lane) ?? open(lane);
      agents.set(lane, agent);
      return agent;
    },
    dropIdle(lane) {
      const agent = agents.get(lane);
      if (agent) dropIdle(agent);
    },
    retire() {
      for (const agent of agents.values()) {
        agent.maxFreeSockets = 0;
        dropIdle(agent);
      }
    },
    get busy() {
      return agents.values().some((agent) => Object.keys(agent.sockets).length > 0);
    },
    destroy() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

function dropIdle(agent: HttpAgent): void {
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}
