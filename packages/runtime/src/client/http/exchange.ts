// One HTTP/1.1 request and its response, on a connection of a pool.
import type { Clock, Timer } from "../../clock.ts";
import { messageOf } from "../../error-message.ts";
import { ConnectionError, type TransportRequest, type TransportResponse } from "../transport.ts";
import type { Connection, Exchange } from "./connection.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { ResponseBody } from "./response-body.ts";
import { MalformedResponse, type ResponseHead } from "./response-parser.ts";

/** What an exchange is made of. */
export interface ExchangeOptions {
  /** Where it goes, for errors. */
  readonly origin: string;
  readonly method: TransportRequest["method"];
  readonly path: string;
  /** The whole request. */
  readonly text: string;
  readonly pool: ConnectionPool;
  readonly timeoutMs: number;
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

/** Sends the request and resolves at the response's headers. Rejects with an `ExchangeError`, with the signal's reason, or with what the pool was closed with. */
export function exchange(options: ExchangeOptions, signal?: AbortSignal): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
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
  readonly #options: ExchangeOptions;
  readonly #waiter: Waiter;
  readonly #signal: AbortSignal | undefined;
  readonly #timer: Timer;
  #connection: Connection | undefined;
  #body: ResponseBody | undefined;

  constructor(options: ExchangeOptions, waiter: Waiter, signal: AbortSignal | undefined) {
    this.text = options.text;
    this.#options = options;
    this.#waiter = waiter;
    this.#signal = signal;
    this.#timer = options.clock.setTimer(options.timeoutMs, () => this.#onTimeout());
    signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  onSent(connection: Connection): void {
    this.#connection = connection;
  }

  onHead({ status, headers }: ResponseHead): void {
    if (this.#options.method === "GET") this.#timer.cancel();
    const connection = this.#connection;
    this.#body = new ResponseBody({
      pause: () => connection?.pause(),
      resume: () => connection?.resume(),
      leave: () => this.#drop(),
    });
    this.#waiter.resolve({ status, headers, body: this.#body });
  }

  onData(bytes: Uint8Array): void {
    this.#body?.take(bytes);
  }

  onEnd(): void {
    this.#timer.cancel();
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#connection = undefined;
    this.#body?.end();
  }

  onFailure(cause: Error, reused: boolean): void {
    this.#timer.cancel();
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#connection = undefined;
    const body = this.#body;
    if (body) body.fail(closedWith(cause) ?? new ConnectionError(this.#said(`the response broke off: ${reasonOf(cause)}`), { cause }));
    else
      this.#waiter.reject(
        closedWith(cause) ?? new ExchangeError(this.#said(reasonOf(cause)), { cause, stale: reused && !(cause instanceof MalformedResponse) }),
      );
  }

  readonly #onAbort = (): void => {
    const reason: unknown = this.#signal?.reason;
    this.#drop();
    if (this.#body) this.#body.abort(reason);
    else this.#waiter.reject(reason);
  };

  #onTimeout(): void {
    this.#drop();
    const { timeoutMs } = this.#options;
    if (this.#body) this.#body.fail(new ConnectionError(this.#said(`the response was not whole within ${timeoutMs} ms`)));
    else this.#waiter.reject(new ExchangeError(this.#said(`no answer within ${timeoutMs} ms`), { stale: false }));
  }

  /** Nobody waits any more: the rest of the answer must not be taken for another's, so the connection goes too. */
  #drop(): void {
    this.#timer.cancel();
    this.#signal?.removeEventListener("abort", this.#onAbort);
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection) connection.destroy();
    else this.#options.pool.cancel(this);
  }

  #said(what: string): string {
    const { method, path, origin } = this.#options;
    return `${method} ${path.split("?", 1)[0]} at ${origin}: ${what}`;
  }
}

/** What the pool was closed with, which says enough by itself. */
function closedWith(cause: Error): ConnectionError | undefined {
  return cause instanceof ConnectionError ? cause : undefined;
}

/** An AggregateError (several addresses tried) has no message of its own. */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(reasonOf).join("; ");
  return messageOf(cause);
}
