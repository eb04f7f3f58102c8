// Sockets to a server: plain or TLS, straight or through a proxy's tunnel.
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type SecureContext } from "node:tls";

/** Where a socket leads. */
export interface SocketTarget {
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
  /** Absent for plain TCP. */
  readonly tls?: {
    readonly secureContext: SecureContext;
    /** The name to expect in the certificate; default the host. */
    readonly serverName?: string;
    readonly insecureSkipVerify?: boolean;
  };
  /** An http or https proxy that allows CONNECT. */
  readonly proxyUrl?: string;
}

/** Dead peers are noticed by probes that start after this long a silence. */
const tcpOptions = { keepAlive: true, keepAliveInitialDelay: 15_000, noDelay: true } as const;
/** Longer than any proxy's answer to CONNECT. */
const maxAnswerBytes = 64 * 1024;

/**
 * Opens a socket and gives it to `done`: at once, still connecting, or once the proxy's tunnel is there. What goes wrong later is the socket's `error`.
 * Returns what cancels a tunnel that is still being made.
 */
export function openSocket(target: SocketTarget, done: (result: Socket | Error) => void): () => void {
  if (target.proxyUrl) return openTunnel(new URL(target.proxyUrl), target, done);
  const { host, port } = target;
  done(target.tls ? secure(target, target.tls, {}) : connectTcp({ host, port, ...tcpOptions }));
  return () => undefined;
}

function secure({ host, port }: SocketTarget, tls: NonNullable<SocketTarget["tls"]>, through: { readonly socket?: Socket }): Socket {
  const { secureContext, serverName = isIP(host) ? undefined : host, insecureSkipVerify = false } = tls;
  return connectTls({
    host,
    port,
    ...tcpOptions,
    ...through,
    secureContext,
    rejectUnauthorized: !insecureSkipVerify,
    ALPNProtocols: ["http/1.1"],
    ...(serverName !== undefined && { servername: serverName }),
  });
}

function openTunnel(proxy: URL, target: SocketTarget, done: (result: Socket | Error) => void): () => void {
  const host = proxy.hostname.replace(/^\[|\]$/g, "");
  const isSecure = proxy.protocol === "https:";
  const at = { host, port: Number(proxy.port || (isSecure ? 443 : 80)), ...tcpOptions };
  // The machine's own trust: a proxy is no part of the cluster.
  const socket: Socket = isSecure ? connectTls({ ...at, ALPNProtocols: ["http/1.1"], ...(!isIP(host) && { servername: host }) }) : connectTcp(at);
  let answer = "";
  const settle = (result: Socket | Error): void => {
    socket.off("data", onData).off("error", onFailure).off("close", onClose);
    if (result instanceof Error) socket.on("error", () => undefined).destroy();
    done(result);
  };
  const onFailure = (cause: Error): void => settle(new Error(`the proxy ${proxy.host}: ${cause.message}`, { cause }));
  const onClose = (): void => settle(new Error(`the proxy ${proxy.host} closed the connection`));
  const onData = (bytes: Buffer): void => {
    answer += bytes.toString("latin1");
    const end = answer.indexOf("\r\n\r\n");
    if (end < 0 && answer.length < maxAnswerBytes) return;
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1];
    // A server that speaks first would be no HTTP server.
    if (end < 0 || status === undefined || end + 4 < answer.length)
      return settle(new Error(`the proxy ${proxy.host} gave no proper answer to CONNECT`));
    if (!status.startsWith("2")) return settle(new Error(`the proxy ${proxy.host} answered ${status} to CONNECT`));
    settle(target.tls ? secure(target, target.tls, { socket }) : socket);
  };
  socket.on("data", onData).on("error", onFailure).on("close", onClose);
  socket.write(connectRequest(proxy, target));
  return () => {
    socket.off("close", onClose).off("error", onFailure);
    socket.on("error", () => undefined).destroy();
  };
}

function connectRequest(proxy: URL, { host, port }: SocketTarget): string {
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const login = Buffer.from(`${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`).toString("base64");
  const authorization = proxy.username === "" ? "" : `Proxy-Authorization: Basic ${login}\r\n`;
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`;
}
