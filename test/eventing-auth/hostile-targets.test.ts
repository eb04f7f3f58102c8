// A thousand clusters that behave, and fifty that do their worst: what these cost is theirs alone.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type ConnectionConfig, createLogger, systemClock, systemRandom } from "@keyturn/runtime";
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect, onTestFinished, test } from "vitest";
import { Target } from "../../packages/keyturn/src/controllers/eventing-auth/target.ts";

const place = { namespace: "kyma-system", name: "eventing-webhook-auth" };
const line = (value: object): string => `${JSON.stringify(value)}\n`;
const synced = line({ type: "BOOKMARK", object: { metadata: { resourceVersion: "5", annotations: { "k8s.io/initial-events-end": "true" } } } });

/** A server, how many bytes it could send in all, and how many connections it had at once. */
interface Counted {
  readonly connection: ConnectionConfig;
  sentBytes: () => number;
  peakSockets: () => number;
  /** All there ever were. */
  socketCount: () => number;
}

async function serve(answer: (response: ServerResponse) => void): Promise<Counted> {
  const sockets = new Set<Socket>();
  let peak = 0;
  let count = 0;
  let closedBytes = 0;
  const server: Server = createServer((_request, response) => answer(response));
  server.on("connection", (socket) => {
    sockets.add(socket);
    count++;
    peak = Math.max(peak, sockets.size);
    socket.on("error", () => {});
    socket.once("close", () => {
      sockets.delete(socket);
      closedBytes += socket.bytesWritten;
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    connection: {
      server: `http://127.0.0.1:${port}`,
      credentials: { authorize: () => Promise.resolve({ headers: {}, tls: {} }), refresh: () => Promise.resolve(false) },
      source: "test",
    },
    sentBytes: () => closedBytes + [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, 0),
    peakSockets: () => peak,
    socketCount: () => count,
  };
}

const json = { "content-type": "application/json" };

/** Sends for as long as it is read. */
function flood(response: ServerResponse, chunk: string): void {
  const more = (): void => {
    while (!response.destroyed && response.write(chunk)) continue;
    response.once("drain", more);
  };
  more();
}

const filler = "x".repeat(16 * 1024);

/** What a cluster can do to whoever watches it. */
const attacks: readonly ((response: ServerResponse) => void)[] = [
  // A line without end.
  (response) => {
    response.writeHead(200, json);
    response.write('{"type":"ADDED","object":{"metadata":{"name":"');
    flood(response, filler);
  },
  // Events without end.
  (response) => {
    response.writeHead(200, json);
    response.write(synced);
    flood(response, line({ type: "MODIFIED", object: { metadata: { ...place, uid: "u", resourceVersion: "6", annotations: { note: filler } } } }));
  },
  // A frame that says it is a quarter of a gigabyte long.
  (response) => {
    response.writeHead(200, { "content-type": "application/vnd.kubernetes.protobuf;stream=watch" });
    response.write(Buffer.from([0x10, 0, 0, 0]));
    flood(response, filler);
  },
  // An answer that never comes, and one that comes byte by byte.
  () => {},
  (response) => {
    response.writeHead(200, json);
    const timer = setInterval(() => response.write(" "), 5);
    response.once("close", () => clearInterval(timer));
  },
  // A page instead of a list, without end.
  (response) => {
    response.writeHead(403, { "content-type": "text/html" });
    flood(response, filler);
  },
  (response) => void response.destroy(),
];

const maxBytes = 10 * 1024 * 1024;

test(
  "a thousand clusters are observed beside fifty hostile ones, of which none is read or connected to beyond its budget",
  { timeout: 240_000 },
  async () => {
    const healthy = await serve((response) => {
      response.writeHead(200, json);
      response.write(synced);
    });
    const hostile = await Promise.all(Array.from({ length: 50 }, (_, n) => serve(attacks[n % attacks.length] ?? (() => {}))));
    let changes = 0;
    const open = ({ connection }: Counted): Target =>
      new Target({
        connection,
        place,
        timeoutMs: 10_000,
        clock: systemClock,
        random: systemRandom,
        log: createLogger({ level: "silent" }),
        onChange: () => void changes++,
      });
    const enemies = hostile.map(open);
    const targets = Array.from({ length: 1_000 }, () => open(healthy));
    onTestFinished(() => {
      for (const target of [...targets, ...enemies]) target.close();
    });
    await soon(() => expect(targets.filter((target) => target.observe().type === "observed").length).toBe(1_000));
    // Those that send have been stopped, and are told of.
    const floods = hostile.filter((_, n) => [0, 1, 2].includes(n % attacks.length));
    await soon(() => {
      for (const each of floods) expect(each.sentBytes()).toBeGreaterThan(256 * 1024);
    });
    await soon(() => {
      for (const [n, enemy] of enemies.entries()) {
        if (n % attacks.length === 0) expect(enemy.observe()).toMatchObject({ type: "unobserved", trouble: { reason: "TargetUnreachable" } });
      }
    });
    // What was sent and not read lies in the buffers of sockets, each of which was given up.
    for (const each of hostile) expect(each.sentBytes()).toBeLessThan(512 * 1024 + each.socketCount() * maxBytes);
    for (const each of hostile) expect(each.peakSockets()).toBeLessThanOrEqual(3);
    expect(targets.every((target) => target.observe().type === "observed")).toBe(true);
  },
);
