// One HTTP/1.1 request on one socket, up to the headers of its response.
import { request as requestHttp, type Agent, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { request as requestHttps } from "node:https";
import type { Clock } from "../clock.ts";
import { ResponseBody } from "./response-body.ts";
import { ConnectionError, type TransportRequest, type TransportResponse } from "./transport.ts";

/** What an exchange is made of. */
export interface ExchangeOptions {
  readonly server: URL;
  readonly method: TransportRequest["method"];
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string | undefined;
  readonly agent: Agent;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Ends the exchange with its reason: for requests that still wait for a socket, which an agent forgets when it is destroyed. */
  readonly closed: AbortSignal;
}

/** How an exchange failed: `stale` if a kept-alive socket turned out to be closed by the server before a byte came back. */
export class ExchangeError extends ConnectionError {
  readonly stale: boolean;
  constructor(message: string, options: ErrorOptions & { readonly stale: boolean }) {
    super(message, options);
    this.stale = options.stale;
  }
}

/** Sends the request and resolves at the response's headers. Rejects with an `ExchangeError`, or with the signal's reason. */
export function exchange(options: ExchangeOptions, signal?: AbortSignal): Promise<TransportResponse> {
  const { server, method, path, headers, body, agent, timeoutMs, clock, closed } = options;
  const attempt = `${method} ${path.split("?", 1)[0]} at ${server.origin}`;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const send = server.protocol === "https:" ? requestHttps : requestHttp;
    const outgoing = send({
      agent,
      method,
      path,
      headers,
      // Ends only the wait for a proxy's tunnel, whose socket node does not hand out before it is open; the timer below ends everything else.
      timeout: timeoutMs,
      host: server.hostname.replace(/^\[|\]$/g, ""),
      port: server.port || (server.protocol === "https:" ? 443 : 80),
    });
    const timer = clock.setTimer(timeoutMs, () => {
      reject(new ExchangeError(`${attempt}: no answer within ${timeoutMs} ms`, { stale: false }));
      outgoing.destroy();
    });
    const onAbort = (): void => {
      reject(signal?.reason);
      outgoing.destroy();
    };
    const onClosed = (): void => {
      reject(closed.reason);
      outgoing.destroy();
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    closed.addEventListener("abort", onClosed, { once: true });
    let answered = false;
    outgoing.on("response", (incoming: IncomingMessage) => {
      answered = true;
      timer.cancel();
      const broken = (cause: unknown): Error => new ConnectionError(`${attempt}: the response broke off: ${reasonOf(cause)}`, { cause });
      resolve({ status: incoming.statusCode ?? 0, headers: flatten(incoming), body: new ResponseBody(incoming, broken, signal) });
    });
    outgoing.on("error", (cause: NodeJS.ErrnoException) => {
      const stale = outgoing.reusedSocket && (cause.code === "ECONNRESET" || cause.code === "EPIPE");
      reject(new ExchangeError(`${attempt}: ${reasonOf(cause)}`, { cause, stale }));
    });
    outgoing.on("close", () => {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
      closed.removeEventListener("abort", onClosed);
      // Every request comes to its close, and an error is dear: it holds a stack.
      if (!answered) reject(new ExchangeError(`${attempt}: the connection was closed before an answer`, { stale: outgoing.reusedSocket }));
    });
    outgoing.end(body);
  });
}

/** An AggregateError (several addresses tried) has no message of its own. */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(reasonOf).join("; ");
  return cause instanceof Error ? cause.message : String(cause);
}

function flatten(incoming: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return headers;
}
