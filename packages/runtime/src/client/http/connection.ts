// One socket to a server, which carries one exchange after another.
import type { Socket } from "node:net";
import { ResponseParser, type ResponseSink } from "./response-parser.ts";

/** A request and whoever waits for its answer. */
export interface Exchange extends ResponseSink {
  /** The whole request: head and body. */
  readonly text: string;
  /** The exchange has got its connection, and is being sent. */
  onSent(connection: Connection): void;
  /** The answer has been told whole. */
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

/** A kept connection is not used in its last second, in which the server may be closing it already. */
const keepAliveMarginMs = 1000;

/** Guarantees: an exchange ends with exactly one of `onEnd` and `onFailure`, unless it was the one who destroyed the connection. */
export class Connection {
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #idleMs: number;
  readonly #parser = new ResponseParser();
  #exchange: Exchange | undefined;
  #reused = false;
  #closedByUs = false;

  constructor(socket: Socket, owner: ConnectionOwner, idleMs: number) {
    this.#socket = socket;
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

  /** Sends an exchange. Only on a connection that is free. */
  run(exchange: Exchange): void {
    this.#exchange = exchange;
    this.#parser.begin(exchange);
    exchange.onSent(this);
    this.#socket.write(exchange.text);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Closes it at once; the exchange under way is told nothing. */
  destroy(): void {
    this.#exchange = undefined;
    this.#close();
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
