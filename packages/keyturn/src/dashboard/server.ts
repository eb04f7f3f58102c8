// The dashboard's HTTP server. It reads and never writes.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { isIP } from "node:net";
import { limitConnections, parseBindAddress } from "@keyturn/runtime";
import { UsageError } from "../flags/flag.ts";
import { RequestHandler, type RequestHandlerOptions, usualMostStreams } from "./request-handler.ts";

/** Where the server listens, and what it answers with. */
export interface DashboardServerOptions extends RequestHandlerOptions {
  /** Such as `:8082` or `127.0.0.1:0`. */
  readonly bindAddress: string;
}

/** A running server. */
export interface DashboardServer {
  /** `http://host:port/`. */
  readonly url: string;
  /** Ends every stream with a word, and closes. */
  close(): Promise<void>;
}

/** Tokens can have some kilobytes. */
const largestHeadersBytes = 32 * 1024;
/** How long streams may take to say that they end. */
const closeGraceMs = 500;

/** Starts it; rejects with a `UsageError` if the address cannot be had. */
export async function startDashboardServer(options: DashboardServerOptions): Promise<DashboardServer> {
  const address = parseBindAddress(options.bindAddress);
  if (address.type === "off") throw new UsageError("the dashboard needs an address to listen on, such as 127.0.0.1:8082");
  const { host, port } = address;
  const stop = new AbortController();
  const handler = new RequestHandler(options, { signal: stop.signal, isLoopback: isLoopback(host) });
  const limits = {
    headersTimeout: 10_000,
    requestTimeout: 10_000,
    connectionsCheckingInterval: 10_000,
    keepAliveTimeout: 15_000,
    maxHeaderSize: largestHeadersBytes,
  };
  const server = createServer(limits, (request, response) => {
    handler.answer({ request, response }).catch((error: unknown) => {
      options.log.error({ err: error }, "the dashboard could not answer a request");
      response.destroy();
    });
  });
  limitConnections(server, 2 * (options.mostStreams ?? usualMostStreams));
  server.listen({ port, ...(host !== undefined && { host }) });
  try {
    await once(server, "listening");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`cannot listen on ${options.bindAddress} for the dashboard: ${reason}; choose another address`, { cause: error });
  }
  return {
    url: urlOf(server, host),
    async close() {
      stop.abort();
      await closed(server);
    },
  };
}

function urlOf(server: Server, host = "127.0.0.1"): string {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}/`;
}

/** Streams say that they end; whoever does not hear it is cut off. */
async function closed(server: Server): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), closeGraceMs);
  await ended;
  clearTimeout(cut);
}

function isLoopback(host: string | undefined): boolean {
  return host === "localhost" || host === "::1" || host?.startsWith("127.") === true;
}
