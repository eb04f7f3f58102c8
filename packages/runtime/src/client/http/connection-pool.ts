// The connections to one server that one kind of request shares.
import type { Socket } from "node:net";
import { Connection, type ConnectionOwner, type Exchange } from "./connection.ts";

/** How a pool behaves. */
export interface PoolOptions {
  /** Opens a socket and hands it out, perhaps at once and still connecting; returns what cancels that. */
  readonly open: (done: (result: Socket | Error) => void) => () => void;
  /** Connections at the same time; further exchanges wait their turn. */
  readonly most: number;
  /** Connections that are kept while nothing is to be sent. */
  readonly mostIdle: number;
  /** How long one is kept so. */
  readonly idleMs: number;
}

/** Guarantees: at most `most` sockets; exchanges that wait are served in order; the connection used last is used next, so that the others can fall idle and close. */
export class ConnectionPool implements ConnectionOwner {
  readonly #options: PoolOptions;
  readonly #idle: Connection[] = [];
  readonly #busy = new Set<Connection>();
  readonly #opening = new Map<Exchange, () => void>();
  readonly #waiting = new Set<Exchange>();
  #mostIdle: number;
  /** True once the server has closed a connection, until one was opened for it. */
  #lost = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#mostIdle = options.mostIdle;
  }

  /** True while anything is under way. */
  get busy(): boolean {
    return this.#busy.size > 0 || this.#opening.size > 0 || this.#waiting.size > 0;
  }

  run(exchange: Exchange): void {
    const connection = this.#idle.pop();
    if (connection) this.#start(connection, exchange);
    else if (this.#busy.size + this.#opening.size < this.#options.most) this.#open(exchange);
    else this.#waiting.add(exchange);
  }

  /** Forgets an exchange that has not been sent. */
  cancel(exchange: Exchange): void {
    this.#waiting.delete(exchange);
    this.#opening.get(exchange)?.();
    if (this.#opening.delete(exchange)) this.#next();
  }

  /** The server was away and is back: if that cost this pool its connections, one is opened, so that the next exchange need not wait for it. */
  restore(): void {
    if (!this.#lost || this.busy || this.#idle.length > 0) return;
    this.#lost = false;
    this.#options.open((result) => {
      if (!(result instanceof Error)) this.onFree(new Connection(result, this, this.#options.idleMs));
    });
  }

  /** Closes the connections that are not in use. */
  dropIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  /** Closes idle connections now and busy ones when they become idle. */
  retire(): void {
    this.#mostIdle = 0;
    this.dropIdle();
  }

  /** Closes everything; every exchange under way fails with `reason`. */
  destroy(reason: Error): void {
    this.#mostIdle = 0;
    const unsent = [...this.#waiting, ...this.#opening.keys()];
    for (const cancel of this.#opening.values()) cancel();
    this.#waiting.clear();
    this.#opening.clear();
    this.dropIdle();
    for (const exchange of unsent) exchange.onFailure(reason, false);
    for (const connection of this.#busy) connection.abandon(reason);
  }

  onFree(connection: Connection): void {
    this.#busy.delete(connection);
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      this.#start(connection, next);
    } else if (this.#idle.length < this.#mostIdle) {
      this.#idle.push(connection);
    } else {
      connection.destroy();
    }
  }

  onGone(connection: Connection, byServer: boolean): void {
    this.#lost ||= byServer;
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    if (this.#busy.delete(connection)) this.#next();
  }

  #start(connection: Connection, exchange: Exchange): void {
    this.#busy.add(connection);
    connection.run(exchange);
  }

  #next(): void {
    const [next] = this.#waiting;
    if (!next) return;
    this.#waiting.delete(next);
    this.run(next);
  }

  #open(exchange: Exchange): void {
    let answered = false;
    const cancel = this.#options.open((result) => {
      answered = true;
      this.#opening.delete(exchange);
      if (result instanceof Error) {
        exchange.onFailure(result, false);
        this.#next();
      } else {
        this.#start(new Connection(result, this, this.#options.idleMs), exchange);
      }
    });
    if (!answered) this.#opening.set(exchange, cancel);
  }
}
