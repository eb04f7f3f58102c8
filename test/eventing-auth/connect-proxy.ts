// For tests: a forward proxy on this machine, as companies have them, that knows where a few names lead.
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createRelay, type Socket } from "node:net";

/** A running proxy. */
interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  /** Where tunnels were asked for, such as `tenant.test:80`. */
  readonly tunnels: readonly string[];
}

/** Starts a proxy that tunnels to ports of 127.0.0.1, by the `host:port` that is asked for, and refuses everything else. */
export async function startConnectProxy(routes: Readonly<Record<string, number>>): Promise<ConnectProxy> {
  const tunnels: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_, response) => void response.writeHead(403).end());
  server.on("connect", ({ url = "" }, client: Socket) => {
    tunnels.push(url);
    const port = routes[url];
    if (port === undefined) client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    else join(client, port, sockets).once("connect", () => client.write("HTTP/1.1 200 OK\r\n\r\n"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${portOf(server.address())}`,
    tunnels,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Listens on `[::1]` and passes everything on to a port of 127.0.0.1. */
export async function startIpv6Relay(port: number): Promise<{ readonly port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createRelay((client) => void join(client, port, sockets));
  server.listen(0, "::1");
  await once(server, "listening");
  return {
    port: portOf(server.address()),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function join(client: Socket, port: number, sockets: Set<Socket>): Socket {
  const upstream = connect(port, "127.0.0.1");
  client.pipe(upstream).pipe(client);
  for (const socket of [client, upstream]) {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  }
  return upstream;
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port");
  return address.port;
}
