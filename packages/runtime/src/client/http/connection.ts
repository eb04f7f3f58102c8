// One socket to a server, which carries one exchange after another.
import type { Clock, Timer } from "../../clock.ts";
import { messageOf } from "../../observe/redaction.ts";
import { ConnectionError, type SendPermit, type TransportRequest, type TransportResponse } from "../transport.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import type { OpenSocket } from "./open-socket.ts";
import { MalformedResponse, ResponseBody, type ResponseHead, ResponseParser, type ResponseSink } from "./response-parser.ts";

/** A request and whoever waits for its answer. */
export interface Exchange extends ResponseSink {
  /** The whole request: head and body. */
  readonly text: string;
  /** Whom it is sent for. */
  readonly flow: string;
  /** The exchange has got its connection, and is sent next if this is true. If not, it is over. */
  onTurn(connection: Connection): boolean;
  /** The whole response has been reported. */
  onEnd(): void;
  /** There will be no more of the answer. `reused` if the connection carried others before. */
  onFailure(cause: Error, reused: boolean): void;
}

/** Who owns a connection. */
export interface ConnectionOwner {
  /** It can carry another exchange. */
  onFree(connection: Connection): void;
  /** It is closed, by us or by the server. */
  onGone(connection: Connection, byServer: boolean): void;
}

/** What one connection may do. */
export interface ConnectionLimits {
  /** How long it is kept while nothing is to be sent. */
  readonly idleMs: number;
  /** The longest head of an answer. Default 256 KiB. */
  readonly maxHeadBytes?: number | undefined;
}

/** A kept connection is not used in its last second, in which the server may be closing it already. */
const keepAliveMarginMs = 1000;

/** Guarantees: an exchange ends with exactly one of `onEnd` and `onFailure`, unless it was the one who destroyed the connection. */
export class Connection {
  readonly #opened: OpenSocket;
  readonly #owner: ConnectionOwner;
  readonly #idleMs: number;
  readonly #parser: ResponseParser;
  #exchange: Exchange | undefined;
  #reused = false;
  #closedByUs = false;

  /** The socket is ready: what is written to it goes out. */
  constructor(opened: OpenSocket, owner: ConnectionOwner, { idleMs, maxHeadBytes }: ConnectionLimits) {
    const { socket } = opened;
    this.#opened = opened;
    this.#parser = new ResponseParser(maxHeadBytes);
    this.#owner = owner;
    this.#idleMs = idleMs;
    socket.setTimeout(idleMs);
    socket.on("timeout", () => {
      if (!this.#exchange) this.destroy();
    });
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.on("end", () => this.#finish());
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => {
      this.#fail(closedByServer());
      owner.onGone(this, !this.#closedByUs);
    });
  }

  get #socket(): OpenSocket["socket"] {
    return this.#opened.socket;
  }

  /** Sends an exchange, on a connection that is free. False if the exchange may not be sent any more: the connection is free as before. */
  run(exchange: Exchange): boolean {
    if (!exchange.onTurn(this)) return false;
    this.#exchange = exchange;
    this.#parser.begin(exchange);
    this.#socket.write(exchange.text);
    return true;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Closes it at once; the exchange under way is not notified. */
  destroy(): void {
    this.#exchange = undefined;
    this.#close();
  }

  /** As `destroy`, and what is still on its way is called back as far as the kernel can. */
  reset(): void {
    this.#exchange = undefined;
    this.#closedByUs = true;
    this.#opened.reset();
  }

  /** Closes it at once; the exchange under way fails with `reason`. */
  abandon(reason: Error): void {
    this.#fail(reason);
    this.#close();
  }

  #close(): void {
    this.#closedByUs = true;
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    try {
      this.#opened.meter?.took(bytes.length);
      if (this.#parser.take(bytes)) this.#end();
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
      this.#close();
    }
  }

  #finish(): void {
    if (!this.#exchange) return;
    if (this.#parser.finish()) this.#end();
    else this.#fail(closedByServer());
  }

  #end(): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#reused = true;
    const keptMs = Math.min(this.#idleMs, (this.#parser.keepAliveMs ?? Infinity) - keepAliveMarginMs);
    // An answer that came before the whole request was sent leaves the rest of it in the way.
    const isFree = this.#parser.reusable && keptMs > 0 && this.#socket.writableLength === 0 && !this.#socket.destroyed;
    if (!isFree) this.#close();
    if (keptMs < this.#idleMs && isFree) this.#socket.setTimeout(keptMs);
    if (this.#socket.isPaused()) this.#socket.resume();
    exchange?.onEnd();
    if (isFree) this.#owner.onFree(this);
  }

  #fail(cause: Error): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.onFailure(cause, this.#reused);
  }
}

function closedByServer(): Error {
  return new Error("the server closed the connection");
}

// One HTTP/1.1 request and its response, on a connection of a pool.

/** What an exchange is made of. */
interface ExchangeOptions {
  /** Where it goes, for errors. */
  readonly origin: string;
  readonly method: TransportRequest["method"];
  readonly path: string;
  /** The whole request. */
  readonly text: string;
  readonly pool: ConnectionPool;
  readonly flow: string;
  readonly permit: SendPermit | undefined;
  readonly timeoutMs: number;
  /** The body of a GET may stand still for as long as it likes. */
  readonly endless: boolean;
  readonly clock: Clock;
}

/** How an exchange failed: `stale` if a kept-alive connection turned out to be closed by the server before a byte came back. */
export class ExchangeError extends ConnectionError {
  readonly stale: boolean;
  constructor(message: string, options: ErrorOptions & { readonly stale: boolean }) {
    super(message, options);
    this.stale = options.stale;
  }
}

/**
 * Sends the request and resolves at the response's headers. Rejects with an `ExchangeError`, with the reason of the signal or of the permit, or with what
 * the pool was closed with.
 */
export function exchange(options: ExchangeOptions, signal?: AbortSignal): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    if (options.permit?.signal.aborted) return reject(options.permit.signal.reason);
    options.pool.run(new PendingExchange(options, { resolve, reject }, signal));
  });
}

/** What the caller waits with. */
interface Waiter {
  readonly resolve: (response: TransportResponse) => void;
  readonly reject: (reason: unknown) => void;
}

class PendingExchange implements Exchange {
  readonly text: string;
  readonly flow: string;
  readonly #options: ExchangeOptions;
  readonly #waiter: Waiter;
  readonly #signal: AbortSignal | undefined;
  #timer: Timer;
  #connection: Connection | undefined;
  #body: ResponseBody | undefined;
  /** Since when a byte is waited for; undefined while nobody takes what there is. */
  #waitingSinceMs: number | undefined;

  constructor(options: ExchangeOptions, waiter: Waiter, signal: AbortSignal | undefined) {
    this.text = options.text;
    this.flow = options.flow;
    this.#options = options;
    this.#waiter = waiter;
    this.#signal = signal;
    this.#timer = options.clock.setTimer(options.timeoutMs, () => this.#onTimeout());
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    options.permit?.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  onTurn(connection: Connection): boolean {
    try {
      this.#options.permit?.check();
    } catch (refusal) {
      this.#settle();
      this.#waiter.reject(refusal);
      return false;
    }
    this.#connection = connection;
    return true;
  }

  onHead({ status, headers }: ResponseHead): void {
    const { method, endless, clock } = this.#options;
    if (method === "GET" && endless) this.#timer.cancel();
    const connection = this.#connection;
    this.#body = new ResponseBody({
      pause: () => {
        this.#waitingSinceMs = undefined;
        connection?.pause();
      },
      resume: () => {
        this.#waitingSinceMs = clock.monotonic();
        connection?.resume();
      },
      leave: () => this.#drop(),
    });
    this.#waitingSinceMs = clock.monotonic();
    this.#waiter.resolve({ status, headers, body: this.#body });
  }

  onData(bytes: Uint8Array): void {
    this.#waitingSinceMs = this.#options.clock.monotonic();
    this.#body?.take(bytes);
  }

  onEnd(): void {
    this.#settle();
    this.#body?.end();
  }

  onFailure(cause: Error, reused: boolean): void {
    this.#settle();
    const body = this.#body;
    if (body) body.fail(closedWith(cause) ?? new ConnectionError(this.#said(`the response broke off: ${reasonOf(cause)}`), { cause }));
    else
      this.#waiter.reject(
        closedWith(cause) ?? new ExchangeError(this.#said(reasonOf(cause)), { cause, stale: reused && !(cause instanceof MalformedResponse) }),
      );
  }

  readonly #onAbort = (event: Event): void => {
    const reason: unknown = event.target instanceof AbortSignal ? event.target.reason : undefined;
    this.#drop();
    if (this.#body) this.#body.abort(reason);
    else this.#waiter.reject(reason);
  };

  #onTimeout(): void {
    const { method, timeoutMs, clock } = this.#options;
    if (this.#body && method === "GET") {
      // The timer looks now and then instead of being set anew with each piece.
      const leftMs = (this.#waitingSinceMs ?? clock.monotonic()) + timeoutMs - clock.monotonic();
      if (leftMs > 0) return void (this.#timer = clock.setTimer(leftMs, () => this.#onTimeout()));
      this.#drop();
      return this.#body.fail(new ConnectionError(this.#said(`the response stood still for ${timeoutMs} ms`)));
    }
    this.#drop();
    if (this.#body) this.#body.fail(new ConnectionError(this.#said(`the response was not whole within ${timeoutMs} ms`)));
    else this.#waiter.reject(new ExchangeError(this.#said(`no answer within ${timeoutMs} ms`), { stale: false }));
  }

  /** Nobody waits any more: the rest of the answer must not be taken for another's, so the connection goes too. */
  #drop(): void {
    const connection = this.#settle();
    if (!connection) this.#options.pool.cancel(this);
    else if (this.#options.method === "GET") connection.destroy();
    // The kernel would go on sending a write that nobody stands for any more, for minutes where the network stalls.
    else connection.reset();
  }

  /** Nothing is waited for any more. Returns the connection that it was on. */
  #settle(): Connection | undefined {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#timer.cancel();
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#options.permit?.signal.removeEventListener("abort", this.#onAbort);
    return connection;
  }

  #said(what: string): string {
    const { method, path, origin } = this.#options;
    return `${method} ${path.split("?", 1)[0]} at ${origin}: ${what}`;
  }
}

/** What the pool was closed with, or what was too long: both say enough by themselves. */
function closedWith(cause: Error): ConnectionError | undefined {
  return cause instanceof ConnectionError ? cause : undefined;
}

/** An AggregateError (several addresses tried) has no message of its own. */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(reasonOf).join("; ");
  return messageOf(cause);
}

// The bytes of a request.

/** What a request says. */
interface RequestParts {
  readonly method: TransportRequest["method"];
  /** Path and query. */
  readonly path: string;
  /** Host and, where it is not the scheme's own, port. */
  readonly host: string;
  /** Several values give several headers. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | undefined;
}

/** Anything else in a path could be read as the end of the line, or of the request. */
const unfitForPath = /[^\x21-\x7e]/;
const unfitForName = /[^!#$%&'*+\-.^_`|~0-9a-z]/i;
const unfitForValue = /[^\t\x20-\x7e]/;

/** The whole request, head and body. Throws a `TypeError` for what cannot be in a head; it names the header and does not show its value. */
export function requestText({ method, path, host, headers, body }: RequestParts): string {
  if (unfitForPath.test(path)) throw new TypeError("the path has characters that a request cannot carry");
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (const name in headers) {
    const values = headers[name];
    if (values === undefined) continue;
    if (typeof values === "string") head += headerLine(name, values);
    else for (const value of values) head += headerLine(name, value);
  }
  return body === undefined ? `${head}\r\n` : `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function headerLine(name: string, value: string): string {
  if (name === "" || unfitForName.test(name)) throw new TypeError(`a header cannot have the name ${JSON.stringify(name)}`);
  if (unfitForValue.test(value)) throw new TypeError(`the header ${name} has characters that a request cannot carry`);
  return `${name}: ${value}\r\n`;
}
