// The real wire to an API server: kept-alive HTTP/1.1 sockets, TLS, proxies, and credentials that renew themselves.
import { BlockList, isIP, type LookupFunction } from "node:net";
import { type Clock, systemClock, checkNumbers } from "../../clock.ts";
import { messageOf } from "../../observe/redaction.ts";
import { ConfigError } from "../auth/connection-config.ts";
import { type Credentials, CredentialSession, type IssuedAuthorization, type TlsMaterial } from "../auth/credentials.ts";
import { abortRace, ConnectionError, type Transport, type TransportRequest, type TransportResponse } from "../transport.ts";
import { LanePools, type ServerAddress } from "./connection-pool.ts";
import { exchange, ExchangeError, requestText } from "./connection.ts";
import type { OnRead } from "./read-meter.ts";

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
  /** The longest head of an answer, and the longest trailers; more is an `AnswerTooLongError`. Default 256 KiB. */
  readonly maxHeadBytes?: number;
  /** Told of all that is read from the server: heads and what is said between the parts of a body too. */
  readonly onRead?: OnRead;
  /** How the addresses of the server are found; a proxy's are found as the machine does. Default: as the machine does. */
  readonly lookup?: LookupFunction;
  /** Default the machine's. */
  readonly clock?: Clock;
}

const defaultTimeoutMs = 30_000;

/**
 * Opens a transport; sockets are opened when first needed. Throws `ConfigError` for a server or proxy address that cannot be used.
 *
 * Guarantees, beyond those of `Transport`: lanes never share a socket; a GET that met a kept-alive socket already closed by the server is sent
 * once more on a new one; a 401 leads to one refresh of the credentials, shared by all requests that meet it, and one more try; changed TLS
 * material is used within a tenth of a second while requests in flight keep their sockets. Never asks for compression: near the server it costs
 * more time than it saves.
 */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  return new HttpTransport(options);
}

class HttpTransport implements Transport {
  readonly #server: URL;
  readonly #basePath: string;
  readonly #address: ServerAddress;
  readonly #session: CredentialSession;
  readonly #clock: Clock;
  readonly #userAgent: string;
  #current: { readonly tls: TlsMaterial; readonly pools: LanePools } | undefined;
  /** Pools of earlier TLS material whose last requests are still in flight. */
  #retired: readonly LanePools[] = [];
  readonly #closed = new AbortController();

  constructor(options: HttpTransportOptions) {
    checkNumbers({ maxHeadBytes: options.maxHeadBytes });
    this.#server = serverUrl(options.server);
    // Looks back, so that a long run of slashes is looked at once and not anew from each of them.
    this.#basePath = this.#server.pathname.replace(/(?<!\/)\/+$/, "");
    this.#clock = options.clock ?? systemClock;
    this.#userAgent = options.userAgent ?? "keyturn";
    this.#session = new CredentialSession(options.credentials, this.#clock);
    const proxyUrl = options.proxyUrl || proxyFor(this.#server, options.env ?? {});
    if (proxyUrl) checkProxy(proxyUrl);
    const secure = this.#server.protocol === "https:";
    this.#address = {
      host: this.#server.hostname.replace(/^\[|\]$/g, ""),
      port: Number(this.#server.port || (secure ? 443 : 80)),
      secure,
      ...(options.tlsServerName && { tlsServerName: options.tlsServerName }),
      ...(options.insecureSkipTlsVerify && { insecureSkipTlsVerify: true }),
      ...(proxyUrl && { proxyUrl }),
      ...(options.maxHeadBytes !== undefined && { maxHeadBytes: options.maxHeadBytes }),
      ...(options.onRead && { onRead: options.onRead }),
      ...(options.lookup && { lookup: options.lookup }),
      clock: this.#clock,
    };
  }

  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    const authorization = await this.#authorization(request, signal);
    const response = await this.#sendAs(authorization, request, signal);
    if (response.status !== 401) return response;
    const renewed = await this.#credentials(this.#session.renew(authorization), request, signal).catch(async (error: unknown) => {
      await discard(response);
      throw error;
    });
    if (!renewed) return response;
    await discard(response);
    return this.#sendAs(await this.#authorization(request, signal), request, signal);
  }

  close(): void {
    const reason = new ConnectionError(`the transport to ${this.#server.origin} is closed`);
    this.#closed.abort(reason);
    for (const pools of this.#retired) pools.destroy(reason);
    this.#current?.pools.destroy(reason);
    this.#current = undefined;
  }

  async #sendAs(authorization: IssuedAuthorization, request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    const { method, body, lane = "call", flow = "", permit, timeoutMs = defaultTimeoutMs } = request;
    const path = this.#basePath + request.path;
    const headers = { "user-agent": this.#userAgent, accept: "application/json", ...request.headers, ...authorization.headers };
    const pools = this.#poolsFor(authorization.tls);
    const pool = pools.of(lane);
    const text = requestText({ method, path, host: this.#server.host, headers, body });
    const options = { origin: this.#server.origin, method, path, text, pool, flow, permit, timeoutMs, endless: lane === "watch", clock: this.#clock };
    try {
      const response = await exchange(options, signal);
      if (lane === "watch") pools.restore();
      return response;
    } catch (error) {
      if (method !== "GET" || !(error instanceof ExchangeError) || !error.stale || this.#closed.signal.aborted) throw error;
      // Where one idle connection was dead the others may be too: the server has restarted, or something in between forgot us.
      pool.dropIdle();
      return exchange(options, signal);
    }
  }

  #poolsFor(tls: TlsMaterial): LanePools {
    this.#closed.signal.throwIfAborted();
    const current = this.#current;
    if (current && current.tls.ca === tls.ca && current.tls.cert === tls.cert && current.tls.key === tls.key) return current.pools;
    let pools: LanePools;
    try {
      pools = new LanePools(this.#address, tls);
    } catch (cause) {
      throw new ConnectionError(`the certificates for ${this.#server.origin} cannot be used: ${messageOf(cause)}`, { cause });
    }
    current?.pools.retire();
    this.#retired = [...this.#retired, ...(current ? [current.pools] : [])].filter((retired) => retired.busy);
    this.#current = { tls, pools };
    return pools;
  }

  #authorization(request: TransportRequest, signal?: AbortSignal): IssuedAuthorization | Promise<IssuedAuthorization> {
    const issued = this.#session.authorize();
    return issued instanceof Promise ? this.#credentials(issued, request, signal) : issued;
  }

  /** Credentials may take long (an exec plugin, an OIDC issuer): the caller's signal, the permit's and `close` end the wait, not the work that others share. */
  async #credentials<T>(work: Promise<T>, { permit }: TransportRequest, signal?: AbortSignal): Promise<T> {
    const ends = [signal, permit?.signal, this.#closed.signal];
    try {
      return await abortRace(work, ...ends);
    } catch (cause) {
      for (const end of ends) if (end?.aborted) throw end.reason;
      throw new ConnectionError(`no credentials for ${this.#server.origin}: ${messageOf(cause)}`, { cause });
    }
  }
}

/** A server's address as it is connected to. Whoever judges an address judges this: parsing drops white space and control characters that a text comparison stumbles over. */
export function serverUrl(server: string): URL {
  const url = URL.parse(server.includes("://") ? server : `https://${server}`);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:") || url.hostname === "") {
    // A URL may hold a name and a password, and a text that is none may be anything.
    throw new ConfigError("Unusable", `the API server's address${url ? ` ${url.protocol}//${url.host}` : ""} is no http or https URL`);
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

/** Reads a small body to its end, so that its socket can be used again. */
async function discard(response: TransportResponse): Promise<void> {
  for await (const chunk of response.body) void chunk;
}

// Whether a server is reached through a proxy, by the environment variables that Go programs and curl obey.

/** The environment, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for `server` or undefined for none. Upper and lower case names count; `NO_PROXY` may list hosts, domains (with or without a
 * leading dot or `*.`), addresses, CIDR ranges, each with an optional port, or `*`. Loopback is never proxied, as in Go.
 */
export function proxyFor(server: URL, env: Environment): string | undefined {
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = env[name] || env[name.toLowerCase()];
  if (!proxy || bypasses(server, env["NO_PROXY"] || env["no_proxy"] || "")) return undefined;
  return proxy.includes("://") ? proxy : `http://${proxy}`;
}

function bypasses(server: URL, noProxy: string): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const port = server.port || (server.protocol === "https:" ? "443" : "80");
  if (host === "localhost" || matchesRange(host, "127.0.0.0/8") || host === "::1") return true;
  return noProxy
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== "" && matches({ host, port }, entry));
}

function matches({ host, port }: { readonly host: string; readonly port: string }, entry: string): boolean {
  if (entry === "*") return true;
  if (entry.includes("/")) return matchesRange(host, entry);
  const withPort = /^(?:\[(?<bracketed>[^\]]+)\]|(?<plain>[^:]+)):(?<port>\d+)$/.exec(entry)?.groups;
  if (withPort && withPort["port"] !== port) return false;
  const bare = (withPort?.["bracketed"] ?? withPort?.["plain"] ?? entry).replace(/^\[|\]$/g, "");
  if (isIP(bare)) return host === bare;
  // `.example.org` covers only what is below; `example.org` covers itself too.
  const suffix = bare.replace(/^\*/, "");
  return suffix.startsWith(".") ? host.endsWith(suffix) : host === suffix || host.endsWith(`.${suffix}`);
}

function matchesRange(host: string, range: string): boolean {
  const family = isIP(host);
  const [network = "", bits = ""] = range.split("/", 2);
  if (family === 0 || isIP(network) !== family || !/^\d+$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const block = new BlockList();
  block.addSubnet(network, Number(bits), type);
  return block.check(host, type);
}
