// A program of its own: carries connections between the network of a real node and the machine's, over Unix sockets, which both can open.
// So the two networks have no cable: nothing of the node's network can be seen from outside, and nothing of it can be left behind.
// Each argument is FROM=TO. FROM is a path or host:port to listen on, TO the same to connect to, or CONNECT: whatever an HTTP CONNECT request names.
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type ListenOptions, type NetConnectOpts, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";

/** A path, or host:port, as Node's functions want it. */
function placeOf(text: string): NetConnectOpts & ListenOptions {
  if (text.startsWith("/")) return { path: text };
  const colon = text.lastIndexOf(":");
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) };
}

/** Joins two connections; an error of one ends the other. Each direction ends by itself, as in TCP. */
function join(one: Duplex, two: Duplex): void {
  one.pipe(two).pipe(one);
  one.on("error", () => two.destroy());
  two.on("error", () => one.destroy());
  one.on("close", () => two.destroy());
  two.on("close", () => one.destroy());
}

function relay(to: string): Server {
  return createServer({ allowHalfOpen: true, noDelay: true }, (incoming) => join(incoming, open(to)));
}

function open(to: string): Socket {
  return connect({ ...placeOf(to), allowHalfOpen: true, noDelay: true });
}

function proxy(): Server {
  const server = createHttpServer((_, response) => response.writeHead(405).end());
  server.on("connect", (request, incoming) => {
    const outgoing = open(request.url ?? "");
    outgoing.once("connect", () => {
      incoming.write("HTTP/1.1 200 OK\r\n\r\n");
      join(incoming, outgoing);
    });
    outgoing.once("error", (error) => incoming.end(`HTTP/1.1 502 Bad Gateway\r\ncontent-length: ${error.message.length}\r\n\r\n${error.message}`));
    incoming.once("error", () => outgoing.destroy());
  });
  return server;
}

for (const argument of process.argv.slice(2)) {
  const [from = "", to = ""] = argument.split("=");
  (to === "CONNECT" ? proxy() : relay(to)).listen(placeOf(from));
}
