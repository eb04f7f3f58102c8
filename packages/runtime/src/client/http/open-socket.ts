// Sockets to a server: plain or TLS, straight or through a proxy's tunnel.
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, type SecureContext } from "node:tls";
import type { Clock } from "../../clock.ts";
import { runtimeLimits } from "../../limits.ts";
import { basicAuthorization } from "../auth/credentials.ts";
import { type OnRead, ReadMeter } from "./read-meter.ts";

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
  /** How the addresses of the host are found. Default: as the machine does. */
  readonly lookup?: LookupFunction;
  /** Who is told of what is read, from the first byte of TLS on. */
  readonly onRead?: OnRead;
  readonly clock: Clock;
}

/** Dead peers are noticed by probes that start after this long a silence. */
const tcpOptions = { keepAlive: true, keepAliveInitialDelay: 15_000, noDelay: true } as const;
/** Longer than any proxy's answer to CONNECT. */
const { proxyAnswerBytes: maxAnswerBytes } = runtimeLimits;

/** A socket that is ready to carry requests. */
export interface OpenSocket {
  readonly socket: Socket;
  readonly meter: ReadMeter | undefined;
  /** Closes it with a reset: what the kernel has not sent yet, it drops. A close in order would go on sending. */
  reset(): void;
}

type Opened = (result: OpenSocket | Error) => void;

/**
 * Opens a socket and gives it to `done` when it is ready: connected, past the proxy, with TLS agreed on. Until then nothing can be sent, so that nothing
 * that is written to it waits in here. What goes wrong later is the socket's `error`. Returns what cancels it.
 */
export function openSocket(target: SocketTarget, done: Opened): () => void {
  const { host, port, proxyUrl, lookup } = target;
  if (proxyUrl) return openTunnel(new URL(proxyUrl), target, done);
  const tcp = connectTcp({ host, port, ...tcpOptions, ...(lookup && { lookup }) });
  return target.tls
    ? secure(target, target.tls, { over: tcp, tcp, done })
    : whenReady(tcp, "connect", (result) => done(result ?? plain(tcp, target)));
}

function plain(socket: Socket, { onRead }: SocketTarget): OpenSocket {
  return opened(socket, { tcp: socket, meter: onRead && new ReadMeter(onRead) });
}

function opened(socket: Socket, { tcp, meter }: { readonly tcp: Socket; readonly meter: ReadMeter | undefined }): OpenSocket {
  return {
    socket,
    meter,
    reset: () => {
      // Below TLS, which knows no reset.
      if (!tcp.destroyed) tcp.resetAndDestroy();
      socket.destroy();
    },
  };
}

/** Calls `done` once, when the socket has emitted `event` or failed. Returns what gives it up. */
function whenReady(socket: Socket, event: "connect" | "secureConnect", done: (failure?: Error) => void): () => void {
  const settle = (failure?: Error): void => {
    socket.off(event, onReady).off("error", onFailure).off("close", onClose);
    if (failure) socket.on("error", () => undefined).destroy();
    done(failure);
  };
  const onReady = (): void => settle();
  const onFailure = (failure: Error): void => settle(failure);
  const onClose = (): void => settle(new Error("the server closed the connection"));
  socket.on(event, onReady).on("error", onFailure).on("close", onClose);
  return () => {
    socket.off(event, onReady).off("error", onFailure).off("close", onClose);
    socket.on("error", () => undefined).destroy();
  };
}

/** Agrees on TLS over a socket that is connected, or about to be; `tcp` is what is below everything. Returns what cancels it. */
function secure(
  { host, onRead, clock }: SocketTarget,
  tls: NonNullable<SocketTarget["tls"]>,
  { over, tcp, done }: { readonly over: Socket; readonly tcp: Socket; readonly done: Opened },
): () => void {
  const { secureContext, serverName = isIP(host) ? undefined : host, insecureSkipVerify = false } = tls;
  const socket = connectTls({
    host,
    socket: over,
    secureContext,
    rejectUnauthorized: !insecureSkipVerify,
    ALPNProtocols: ["http/1.1"],
    ...(serverName !== undefined && { servername: serverName }),
  });
  const meter = onRead && new ReadMeter(onRead);
  meter?.watch(socket, tcp, clock);
  return whenReady(socket, "secureConnect", (failure) => done(failure ?? opened(socket, { tcp, meter })));
}

function openTunnel(proxy: URL, target: SocketTarget, done: Opened): () => void {
  const host = proxy.hostname.replace(/^\[|\]$/g, "");
  const isSecure = proxy.protocol === "https:";
  const at = { host, port: Number(proxy.port || (isSecure ? 443 : 80)), ...tcpOptions };
  // The machine's own trust: a proxy is no part of the cluster.
  const tcp = connectTcp(at);
  const socket: Socket = isSecure ? connectTls({ host, socket: tcp, ALPNProtocols: ["http/1.1"], ...(!isIP(host) && { servername: host }) }) : tcp;
  let answer = "";
  const ignore = (): void => void socket.off("data", onData).off("error", onFailure).off("close", onClose);
  const drop = (): void => {
    ignore();
    socket.on("error", () => undefined).destroy();
  };
  const fail = (failure: Error): void => {
    drop();
    done(failure);
  };
  let cancel = drop;
  const onFailure = (cause: Error): void => fail(new Error(`the proxy ${proxy.host}: ${cause.message}`, { cause }));
  const onClose = (): void => fail(new Error(`the proxy ${proxy.host} closed the connection`));
  const onData = (bytes: Buffer): void => {
    answer += bytes.toString("latin1");
    const end = answer.indexOf("\r\n\r\n");
    if (end < 0 && answer.length < maxAnswerBytes) return;
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1];
    // A server that speaks first would be no HTTP server.
    if (end < 0 || status === undefined || end + 4 < answer.length)
      return fail(new Error(`the proxy ${proxy.host} gave no proper answer to CONNECT`));
    if (!status.startsWith("2")) return fail(new Error(`the proxy ${proxy.host} answered ${status} to CONNECT`));
    ignore();
    if (target.tls) cancel = secure(target, target.tls, { over: socket, tcp, done });
    else done(plain(socket, target));
  };
  socket.on("data", onData).on("error", onFailure).on("close", onClose);
  socket.write(connectRequest(proxy, target));
  return () => cancel();
}

function connectRequest(proxy: URL, { host, port }: SocketTarget): string {
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const login = basicAuthorization(proxy);
  const authorization = login === undefined ? "" : `Proxy-Authorization: ${login}\r\n`;
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`;
}
