// Keeps a small HTTP server answering while somebody opens more connections, or sends more requests, than it takes.
import type { RequestListener, Server } from "node:http";
import type { Socket } from "node:net";

/** Tells open connections apart; the same for the connection and for what is encrypted within it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/**
 * At most `most` connections are open at a time. One that comes is always taken; for it, another one is closed: of the address with the most
 * connections, one that is not being answered rather than one that is, and the oldest of those. `Server.maxConnections` would refuse the new one, so that
 * whoever holds that many open, idle, keeps everybody else out. Returns what ends them all, also those whose encryption has not begun, of which the server
 * itself does not know.
 */
export function limitConnections(server: Server, most: number): () => void {
  /** By address, in the order in which they were opened. */
  const open = new Map<string, Set<Socket>>();
  const answering = new Set<string>();
  let count = 0;
  server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? "";
    const forget = (): void => {
      const sockets = open.get(address);
      if (!sockets?.delete(socket)) return;
      count -= 1;
      if (sockets.size === 0) open.delete(address);
    };
    if (count >= most) oldestOf(largest(open.values()), answering)?.destroy();
    const known = open.get(address);
    if (known) known.add(socket);
    else open.set(address, new Set([socket]));
    count += 1;
    socket.once("close", forget);
  });
  server.on("request", ({ socket }, response) => {
    const peer = peerOf(socket);
    answering.add(peer);
    response.once("close", () => answering.delete(peer));
  });
  return () => {
    for (const sockets of open.values()) for (const socket of sockets) socket.destroy();
  };
}

/**
 * Answers one request of a connection at a time. A client that sends the next one before it has the answer, as no browser, probe or scraper does, is cut
 * off: Node would go on making answers for it that nobody reads.
 */
export function oneAtATime(answer: RequestListener): RequestListener {
  const answering = new WeakSet<Socket>();
  return (request, response) => {
    const { socket } = request;
    if (answering.has(socket)) {
      socket.destroy();
      return;
    }
    answering.add(socket);
    response.once("close", () => answering.delete(socket));
    answer(request, response);
  };
}

function largest(groups: Iterable<ReadonlySet<Socket>>): ReadonlySet<Socket> {
  let found: ReadonlySet<Socket> = new Set();
  for (const group of groups) if (group.size > found.size) found = group;
  return found;
}

function oldestOf(sockets: ReadonlySet<Socket>, answering: ReadonlySet<string>): Socket | undefined {
  let first: Socket | undefined;
  for (const socket of sockets) {
    if (socket.destroyed) continue;
    if (!answering.has(peerOf(socket))) return socket;
    first ??= socket;
  }
  return first;
}
