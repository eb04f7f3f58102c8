// A server that speaks the contract and does as it is told: sends given records and changes, cuts connections, refuses tokens.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { extname, join } from "node:path";
import {
  type Changes,
  type DashboardRecord,
  eventStreamPath,
  type ObjectDetail,
  sessionPath,
  type StageLayout,
  type StreamEvents,
} from "@keyturn/dashboard/contract";
import { stageLayout } from "../../../packages/keyturn/src/dashboard/dashboard.ts";
import { features } from "../../../packages/keyturn/src/registry.ts";

/** The policy of the real server: what it forbids must not be needed. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export interface ContractServer extends AsyncDisposable {
  readonly url: string;
  /** Every path that was asked for. */
  readonly asked: readonly string[];
  /** `Last-Event-ID` of each stream that was opened. */
  readonly resumedFrom: readonly (string | undefined)[];
  /** Sends changes to all pages. */
  readonly send: (changes: Changes) => void;
  /** Ends all streams with a reason. */
  readonly end: (end: StreamEvents["end"]) => void;
  /** Closes all connections without a word, and refuses new ones until `mend`. */
  readonly cut: () => void;
  readonly mend: () => void;
}

export interface ContractServerOptions {
  readonly folder: string;
  readonly records: readonly DashboardRecord[];
  /** Default: those of the product. */
  readonly stages?: readonly StageLayout[];
  /** The token that is accepted; undefined: none is needed. `narrow` is known, but has no rights. */
  readonly token?: string;
  readonly detail?: ObjectDetail;
  readonly now?: () => number;
  /** What it is limited to; default the whole cluster. */
  readonly namespaces?: readonly string[];
}

const types: Readonly<Record<string, string>> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const partSize = 500;

export async function startContractServer(options: ContractServerOptions): Promise<ContractServer> {
  const { now = Date.now } = options;
  const records = new Map(options.records.map((record) => [record.id, record]));
  const streams = new Set<ServerResponse>();
  const asked: string[] = [];
  const resumedFrom: (string | undefined)[] = [];
  const sent: { readonly id: number; readonly changes: Changes }[] = [];
  let sequence = 1;
  let broken = false;

  const write = <Name extends keyof StreamEvents>(stream: ServerResponse, name: Name, data: StreamEvents[Name], id?: string): void => {
    stream.write(`${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  };

  function openStream(stream: ServerResponse, lastEventId: string | undefined): void {
    resumedFrom.push(lastEventId);
    stream.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    streams.add(stream);
    stream.on("close", () => streams.delete(stream));
    const last = Number(/^boot:(\d+)$/.exec(lastEventId ?? "")?.[1] ?? Number.NaN);
    write(stream, "hello", {
      bootId: "boot",
      nowMs: now(),
      mode: Number.isNaN(last) ? "snapshot" : "resume",
      cluster: "a synthetic cluster",
      stages: options.stages ?? features.map(stageLayout),
      ...(options.token === undefined ? {} : { user: "somebody" }),
      ...(options.namespaces && { namespaces: options.namespaces }),
    });
    if (!Number.isNaN(last)) {
      for (const { id, changes } of sent.filter((entry) => entry.id > last)) write(stream, "changes", changes, `boot:${id}`);
      return;
    }
    const all = [...records.values()];
    for (let start = 0; start === 0 || start < all.length; start += partSize) {
      const isLast = start + partSize >= all.length;
      const part = { first: start === 0, last: isLast, total: all.length, records: all.slice(start, start + partSize) };
      write(stream, "snapshot", part, isLast ? `boot:${sequence}` : undefined);
    }
  }

  function refuse(response: ServerResponse, status: number, error: string): void {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error }));
  }

  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname.slice(1);
    asked.push(path);
    response.setHeader("content-security-policy", policy);
    if (!path.startsWith("api/")) return void sendFile(options.folder, path === "" ? "index.html" : path, response);
    if (path === sessionPath) {
      const session = { access: options.token === undefined ? "secret" : "token", version: "test", bootId: "boot" };
      return void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(session));
    }
    const given = request.headers.authorization?.replace("Bearer ", "");
    if (options.token !== undefined && given === "narrow") return refuse(response, 403, "no kind may be listed");
    if (options.token !== undefined && given !== options.token) return refuse(response, 401, "the token is not accepted");
    if (path === eventStreamPath) return openStream(response, request.headers["last-event-id"]?.toString());
    if (options.detail === undefined) return refuse(response, 404, "nothing is known about it");
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(options.detail));
  });
  server.on("connection", (socket) => {
    if (broken) socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("starting the contract server: it has no port");

  return {
    url: `http://127.0.0.1:${address.port}/`,
    asked,
    resumedFrom,
    send(changes) {
      sequence++;
      sent.push({ id: sequence, changes });
      for (const removed of changes.removals) records.delete(removed);
      for (const record of changes.upserts) records.set(record.id, record);
      for (const stream of streams) write(stream, "changes", changes, `boot:${sequence}`);
    },
    end(end) {
      for (const stream of streams) {
        write(stream, "end", end);
        stream.end();
      }
    },
    cut() {
      broken = true;
      server.closeAllConnections();
    },
    mend() {
      broken = false;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function sendFile(folder: string, path: string, response: ServerResponse): Promise<void> {
  try {
    const bytes = await readFile(join(folder, path));
    response.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" }).end(bytes);
  } catch {
    response.writeHead(404).end();
  }
}
