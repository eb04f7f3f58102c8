// A thousand clusters that behave, and some fifty that do their worst: what these cost is theirs alone.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type ConnectionConfig, createLogger, systemClock, systemRandom } from "@keyturn/runtime";
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect, onTestFinished, test } from "vitest";
import { Target } from "../../packages/keyturn/src/controllers/eventing-auth/target.ts";

const place = { namespace: "kyma-system", name: "eventing-webhook-auth" };
const line = (value: object): string => `${JSON.stringify(value)}\n`;
const synced = line({ type: "BOOKMARK", object: { metadata: { resourceVersion: "5", annotations: { "k8s.io/initial-events-end": "true" } } } });

/** A server, and what connections to it cost. */
interface Counted {
  readonly connection: ConnectionConfig;
  /** What this process has read from it. What it sent is more: some MB lie in the kernel's buffers when a socket that nobody reads is given up. */
  readBytes: () => number;
  /** Connections at once. */
  peakSockets: () => number;
  /** All there ever were. */
  socketCount: () => number;
}

/** The sockets that this process opens from now on, by the port that they lead to. */
function openedSockets(): ReadonlyMap<number, readonly Socket[]> {
  const opened = new Map<number, Socket[]>();
  const note = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    socket.once("connect", () => {
      const port = socket.remotePort ?? 0;
      opened.set(port, [...(opened.get(port) ?? []), socket]);
    });
  };
  subscribe("net.client.socket", note);
  onTestFinished(() => void unsubscribe("net.client.socket", note));
  return opened;
}

async function serve(answer: (response: ServerResponse) => void, opened: ReturnType<typeof openedSockets>): Promise<Counted> {
  const sockets = new Set<Socket>();
  let peak = 0;
  const server: Server = createServer((_request, response) => answer(response));
  server.on("connection", (socket) => {
    sockets.add(socket);
    peak = Math.max(peak, sockets.size);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ofServer = (): readonly Socket[] => opened.get(port) ?? [];
  return {
    connection: {
      server: `http://127.0.0.1:${port}`,
      credentials: { authorize: () => Promise.resolve({ headers: {}, tls: {} }), refresh: () => Promise.resolve(false) },
      source: "test",
    },
    readBytes: () => ofServer().reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    peakSockets: () => peak,
    socketCount: () => ofServer().length,
  };
}

const json = { "content-type": "application/json" };

/** Sends for as long as it is read. */
function flood(to: ServerResponse | Socket, chunk: string): void {
  const more = (): void => {
    while (!to.destroyed && to.write(chunk)) continue;
    to.once("drain", more);
  };
  more();
}

/** Says it without what Node would add. */
function floodRaw({ socket }: ServerResponse, begin: string, chunk: string): void {
  if (!socket) return;
  socket.write(begin);
  flood(socket, chunk);
}

const filler = "x".repeat(16 * 1024);

interface Attack {
  readonly name: string;
  readonly answer: (response: ServerResponse) => void;
  /** It sends without end, and is stopped. */
  readonly floods: boolean;
}

/** What a cluster can do to whoever watches it. */
const attacks: readonly Attack[] = [
  {
    name: "a line without end",
    floods: true,
    answer(response) {
      response.writeHead(200, json);
      response.write('{"type":"ADDED","object":{"metadata":{"name":"');
      flood(response, filler);
    },
  },
  {
    name: "events without end",
    floods: true,
    answer(response) {
      response.writeHead(200, json);
      response.write(synced);
      flood(response, line({ type: "MODIFIED", object: { metadata: { ...place, uid: "u", resourceVersion: "6", annotations: { note: filler } } } }));
    },
  },
  {
    name: "a frame that says it is a quarter of a gigabyte long",
    floods: true,
    answer(response) {
      response.writeHead(200, { "content-type": "application/vnd.kubernetes.protobuf;stream=watch" });
      response.write(Buffer.from([0x10, 0, 0, 0]));
      flood(response, filler);
    },
  },
  {
    name: "a page without end instead of a list",
    floods: true,
    answer(response) {
      response.writeHead(403, { "content-type": "text/html" });
      flood(response, filler);
    },
  },
  {
    name: "answers without end before the answer",
    floods: true,
    answer: (response) => floodRaw(response, "", `HTTP/1.1 103 Early Hints\r\nlink: ${filler}\r\n\r\n`),
  },
  {
    name: "chunks of one byte, with much said about each",
    floods: true,
    answer: (response) =>
      floodRaw(
        response,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        `1;note=${"x".repeat(8 * 1024)}\r\n \r\n`,
      ),
  },
  {
    name: "an answer after each request, with a head as long as it may be and nothing else",
    floods: false,
    answer(response) {
      response.writeHead(200, { ...json, "x-filler": "x".repeat(60 * 1024), "content-length": "0" });
      response.end();
    },
  },
  { name: "an answer that never comes", floods: false, answer() {} },
  {
    name: "an answer that comes byte by byte",
    floods: false,
    answer(response) {
      response.writeHead(200, json);
      const timer = setInterval(() => response.write(" "), 5);
      response.once("close", () => clearInterval(timer));
    },
  },
  { name: "a connection that breaks", floods: false, answer: (response) => void response.destroy() },
];

/** What the guide promises: so much at once, and so much in each second after that. */
const burstBytes = 512 * 1024;
const bytesPerMs = 8;
/** Too much is noticed when it has been read, and Node reads so much at once. */
const readSize = 64 * 1024;

test("a thousand clusters are observed beside fifty hostile ones, of which none is read or connected to beyond its budget", async () => {
  const opened = openedSockets();
  const startedMs = performance.now();
  const healthy = await serve((response) => {
    response.writeHead(200, json);
    response.write(synced);
  }, opened);
  const fifty = Array.from({ length: 5 }, () => attacks).flat();
  const hostile = await Promise.all(
    fifty.map(async (attack) => {
      const server = await serve(attack.answer, opened);
      return { attack, server, target: open(server) };
    }),
  );
  const targets = Array.from({ length: 1_000 }, () => open(healthy));
  await soon(() => expect(targets.filter((target) => target.observe().type === "observed").length).toBe(1_000));
  const namesOf = (some: typeof hostile): readonly string[] => some.map(({ attack }) => attack.name);
  // Those that send have been stopped, and are told of.
  await soon(() => expect(namesOf(hostile.filter(({ attack, server }) => attack.floods && server.readBytes() <= burstBytes))).toEqual([]));
  await soon(() => {
    for (const { attack, target } of hostile) {
      if (attack === attacks[0]) expect(target.observe()).toMatchObject({ type: "unobserved", trouble: { reason: "TargetUnreachable" } });
    }
  });
  // Each socket on which too much came was given up at once.
  const maxBytes = ({ socketCount }: Counted): number => burstBytes + socketCount() * readSize + (performance.now() - startedMs) * bytesPerMs;
  expect(namesOf(hostile.filter(({ server }) => server.readBytes() > maxBytes(server)))).toEqual([]);
  expect(namesOf(hostile.filter(({ server }) => server.peakSockets() > 3))).toEqual([]);
  await soon(() => expect(targets.filter((target) => target.observe().type !== "observed")).toHaveLength(0));
});

function open({ connection }: Counted): Target {
  const target = new Target({
    connection,
    place,
    timeoutMs: 10_000,
    clock: systemClock,
    random: systemRandom,
    log: createLogger({ level: "silent" }),
    onChange: () => {},
  });
  onTestFinished(() => target.close());
  return target;
}
