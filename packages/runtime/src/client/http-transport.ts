// The real wire to an API server: kept-alive HTTP/1.1 sockets, a pool per lane, and credentials that renew themselves.
import { systemClock, type Clock } from "../clock.ts";
import { abortRace } from "./abort-race.ts";
import { ConfigError } from "./auth/config-error.ts";
import { CredentialSession, type IssuedAuthorization } from "./auth/credential-session.ts";
import type { Credentials, TlsMaterial } from "./auth/credentials.ts";
import { createLaneAgents, type AgentOptions, type LaneAgents } from "./http-agents.ts";
import { exchange, ExchangeError } from "./http-exchange.ts";
import { proxyFor, type Environment } from "./proxy-choice.ts";
import { ConnectionError, type Transport, type TransportRequest, type TransportResponse } from "./transport.ts";

/** Where the API server is and how to reach it. */
export interface HttpTransportOptions {
  /** Base URL, possibly with a path in front of every request's. */
  readonly server: string;
  readonly credentials: Credentials;
  /** The name to expect in the server's certificate; default the host of `server`. */
  readonly tlsServerName?: string;
  /** Trusts any certificate. Default false. */
  readonly insecureSkipTlsVerify?: boolean;
  /** A proxy for this server, before any from `env`. */
  readonly proxyUrl?: string;
  /** Where `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` are looked up. Default: nowhere. */
  readonly env?: Environment;
  /** Default `keyturn`. */
  readonly userAgent?: string;
  /** Default the machine's. */
  readonly clock?: Clock;
}

const defaultTimeoutMs = 30_000;

/**
 * Opens a transport; sockets are opened when first needed. Throws `ConfigError` for a server or proxy address that cannot be used.
 *
 * Guarantees, beyond those of `Transport`: lanes never share a socket; a GET that met a kept-alive socket already closed by the server is sent
 * once more on a new one; a 401 leads to one refresh of the credentials, shared by all requests that meet it, and one more try; changed TLS
 * material is used for the next request while requests in flight keep their sockets. Never asks for compression: near the server it costs
 * more time than it saves.
 */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  return new HttpTransport(options);
}

class HttpTransport implements Transport {
  readonly #server: URL;
  readonly #basePath: string;
  readonly #agentOptions: AgentOptions;
  readonly #session: CredentialSession;
  readonly #clock: Clock;
  readonly #userAgent: string;
  #pools: { readonly tls: TlsMaterial; readonly agents: LaneAgents } | undefined;
  /** Pools of earlier TLS material whose last requests are still in flight. */
  #retired: readonly LaneAgents[] = [];
  readonly #closed = new AbortController();

  constructor(options: HttpTransportOptions) {
    this.#server = serverUrl(options.server);
    this.#basePath = this.#server.pathname.replace(/\/+$/, "");
    this.#clock = options.clock ?? systemClock;
    this.#userAgent = options.userAgent ?? "keyturn";
    this.#session = new CredentialSession(options.credentials, this.#clock);
    const proxyUrl = options.proxyUrl || proxyFor(this.#server, options.env ?? {});
    if (proxyUrl) checkProxy(proxyUrl);
    this.#agentOptions = {
      secure: this.#server.protocol === "https:",
      ...(options.tlsServerName && { tlsServerName: options.tlsServerName }),
      ...(options.insecureSkipTlsVerify && { insecureSkipTlsVerify: true }),
      ...(proxyUrl && { proxyUrl }),
    };
  }

  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    const authorization = await this.#credentials(this.#session.authorize(), signal);
    const response = await this.#sendAs(authorization, request, signal);
    if (response.status !== 401) return response;
    const renewed = await this.#credentials(this.#session.renew(authorization), signal).catch(async (error: unknown) => {
      await discard(response);
      throw error;
    });
    if (!renewed) return response;
    await discard(response);
    return this.#sendAs(await this.#credentials(this.#session.authorize(), signal), request, signal);
  }

  close(): void {
    this.#closed.abort(new ConnectionError(`the transport to ${this.#server.origin} is closed`));
    for (const agents of this.#retired) agents.destroy();
    this.#pools?.agents.destroy();
    this.#pools = undefined;
  }

  async #sendAs(authorization: IssuedAuthorization, request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    const lane = request.lane ?? "call";
    const agents = this.#agentsFor(authorization.tls);
    const { body } = request;
    const options = {
      server: this.#server,
      method: request.method,
      path: `${this.#basePath}${request.path}`,
      headers: {
        "user-agent": this.#userAgent,
        accept: "application/json",
        ...request.headers,
        ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
        ...copyHeaders(authorization.headers),
      },
      body,
      agent: agents.of(lane),
      timeoutMs: request.timeoutMs ?? defaultTimeoutMs,
      clock: this.#clock,
      closed: this.#closed.signal,
    };
    try {
      return await exchange(options, signal);
    } catch (error) {
      if (request.method !== "GET" || !(error instanceof ExchangeError) || !error.stale || this.#closed.signal.aborted) throw error;
      // Where one idle socket was dead the others may be too: the server has restarted, or something in between forgot us.
      agents.dropIdle(lane);
      return exchange(options, signal);
    }
  }

  #agentsFor(tls: TlsMaterial): LaneAgents {
    this.#closed.signal.throwIfAborted();
    const current = this.#pools;
    if (current && current.tls.ca === tls.ca && current.tls.cert === tls.cert && current.tls.key === tls.key) return current.agents;
    let agents: LaneAgents;
    try {
      agents = createLaneAgents(this.#agentOptions, tls);
    } catch (cause) {
      throw new ConnectionError(`the certificates for ${this.#server.origin} cannot be used: ${messageOf(cause)}`, { cause });
    }
    current?.agents.retire();
    this.#retired = [...this.#retired, ...(current ? [current.agents] : [])].filter((retired) => retired.busy);
    this.#pools = { tls, agents };
    return agents;
  }

  /** Credentials may take long (an exec plugin, an OIDC issuer): the caller's signal and `close` end the wait, not the work that others share. */
  async #credentials<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
    const closed = this.#closed.signal;
    try {
      return await abortRace(work, signal, closed);
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      if (closed.aborted) throw closed.reason;
      throw new ConnectionError(`no credentials for ${this.#server.origin}: ${messageOf(cause)}`, { cause });
    }
  }
}

function serverUrl(server: string): URL {
  const url = URL.parse(server.includes("://") ? server : `https://${server}`);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:") || url.hostname === "") {
    throw new ConfigError("Unusable", `the API server's address ${JSON.stringify(server)} is no http or https URL`);
  }
  return url;
}

function checkProxy(proxyUrl: string): void {
  const protocol = URL.parse(proxyUrl)?.protocol;
  if (protocol === "http:" || protocol === "https:") return;
  // The URL may hold a password, so only its scheme is named.
  const what = protocol === undefined ? "the proxy's address is no URL" : `a proxy with ${protocol}// is not supported`;
  throw new ConfigError("Unsupported", `${what}: use an http:// or https:// proxy that allows CONNECT`);
}

function copyHeaders(headers: IssuedAuthorization["headers"]): Record<string, string | string[]> {
  const copy: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) copy[name.toLowerCase()] = typeof value === "string" ? value : [...value];
  return copy;
}

/** Reads a small body to its end, so that its socket can be used again. */
async function discard(response: TransportResponse): Promise<void> {
  for await (const chunk of response.body) void chunk;
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
