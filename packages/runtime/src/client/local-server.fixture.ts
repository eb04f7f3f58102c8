// For tests: a real HTTP or HTTPS server on this machine that shows which connections and requests it got.
import { createServer as createHttp, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TransportResponse } from "./transport.ts";

/** For `expect.poll`: a busy machine may take its time. */
export const patiently = { timeout: 300_000, interval: 5 } as const;

/** A request as it arrived, with the number of its connection. */
interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly connection: number;
}

/** A running server. */
export interface LocalServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly seen: readonly SeenRequest[];
  /** How many connections were ever accepted. */
  readonly connections: number;
  /** How many are open now. */
  readonly open: number;
}

/** TLS of a server: its certificate, and the authority of the client certificates it asks for. */
export interface LocalServerTls {
  readonly certificate: string;
  readonly privateKey: string;
  readonly clientAuthority?: string;
}

/** Starts a server on a free port of 127.0.0.1. It never closes idle connections by itself. */
export async function startLocalServer(answer: RequestListener, tls?: LocalServerTls): Promise<LocalServer> {
  const seen: SeenRequest[] = [];
  const numbers = new WeakMap<Socket, number>();
  const sockets = new Set<Socket>();
  let connections = 0;
  const listener: RequestListener = (request, response) => {
    const { method = "", url = "", headers, socket } = request;
    seen.push({ method, url, headers, connection: numbers.get(socket) ?? 0 });
    answer(request, response);
  };
  const server: Server = tls
    ? createHttps(
        {
          cert: tls.certificate,
          key: tls.privateKey,
          ...(tls.clientAuthority && { ca: tls.clientAuthority, requestCert: true, rejectUnauthorized: true }),
        },
        listener,
      )
    : createHttp(listener);
  server.keepAliveTimeout = 0;
  server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
    numbers.set(socket, ++connections);
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
    port,
    seen,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
        server.closeAllConnections();
      }),
  };
}

/** The whole body as text. */
export async function textOf(response: TransportResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
