// The wire between simulated processes and the simulated API server: latency, loss, broken and stalled streams, all drawn from one Random.
import { ConnectionError, type Transport, type TransportRequest, type TransportResponse } from "../../client/transport.ts";
import type { Clock } from "../../clock.ts";
import { chance, drawInt, type Random } from "../../random.ts";
import type { ProcessClock } from "./process.ts";
import type { ServerAnswer, SimulatedApiServer } from "./simulated-api-server.ts";
import { WatchDelivery } from "./watch-sessions.ts";
import { type FaultRates, noFaults } from "./world-trouble.ts";

/** Who a connection belongs to. */
export interface Client {
  readonly name: string;
  readonly clock: ProcessClock;
}

/** What a network is made of. */
interface NetworkOptions {
  readonly server: SimulatedApiServer;
  /** The world's clock. */
  readonly clock: Clock;
  readonly random: Random;
  /** Called for each request when it is sent, and for each response when the server gives it. */
  readonly observe?: (event: NetworkEvent) => void;
}

/** Something that happened on the wire: sent by a client, about to be served, served. */
export type NetworkEvent =
  | { readonly type: "sent"; readonly client: string; readonly request: TransportRequest }
  | { readonly type: "serving"; readonly client: string; readonly request: TransportRequest }
  | { readonly type: "served"; readonly client: string; readonly request: TransportRequest; readonly status: number };

/** A connection that is open: how to break it, and whose it is. */
interface Connection {
  readonly client: Client;
  breakOff(reason: string): void;
}

/** How long a lost request takes to be noticed: at once when refused, else the client's own time-out ends it. */
const defaultTimeoutMs = 30_000;

/** All connections to one server. Faults can be changed at any time; open streams follow. */
export class SimulatedNetwork {
  faults: FaultRates = noFaults;
  readonly #options: NetworkOptions;
  readonly #connections = new Set<Connection>();
  readonly #partitioned = new Set<string>();
  #isServerUp = true;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** The transport of one process. When the process's clock is dead, so is the transport: nothing it was asked for ever settles. */
  connect(client: Client): Transport {
    return {
      send: (request, signal) => this.#send(client, request, signal),
      close: () => this.#breakAll((connection) => connection.client === client, "the transport was closed"),
    };
  }

  /** Forgets the connections of a process that died. */
  disconnect(client: Client): void {
    for (const connection of this.#connections) if (connection.client === client) this.#connections.delete(connection);
  }

  /** Cuts the process off, or lets it through again. Streams that are open meanwhile go silent for good. */
  setPartitioned(name: string, isPartitioned: boolean): void {
    if (isPartitioned) this.#partitioned.add(name);
    else this.#partitioned.delete(name);
  }

  isPartitioned(name: string): boolean {
    return this.#partitioned.has(name);
  }

  /** Takes the server away, which breaks every connection, or brings it back. */
  setServerUp(isUp: boolean): void {
    this.#isServerUp = isUp;
    if (!isUp) this.#breakAll(() => true, "the server went away");
  }

  #breakAll(which: (connection: Connection) => boolean, reason: string): void {
    for (const connection of this.#connections) if (which(connection)) connection.breakOff(reason);
  }

  #send(client: Client, request: TransportRequest, signal: AbortSignal | undefined): Promise<TransportResponse> {
    return new Promise((resolve, reject) => {
      if (client.clock.isDead) return;
      if (signal?.aborted) return reject(signal.reason);
      const { permit } = request;
      // What it throws rejects.
      permit?.check();
      this.#options.observe?.({ type: "sent", client: client.name, request });
      const body = new ChunkStream();
      const settle = (act: () => void): void => {
        timeout.cancel();
        act();
      };
      const fail = (reason: string): void => {
        const error = new ConnectionError(`${request.method} ${request.path.split("?")[0]}: ${reason}`);
        settle(() => reject(error));
        body.break(error);
        close();
      };
      const connection: Connection = { client, breakOff: (reason) => void client.clock.setTimer(0, () => fail(reason)) };
      const close = (): void => {
        this.#connections.delete(connection);
        signal?.removeEventListener("abort", onAbort);
        permit?.signal.removeEventListener("abort", onAbort);
      };
      const onAbort = (): void => {
        const reason: unknown = signal?.aborted ? signal.reason : permit?.signal.reason;
        settle(() => reject(reason));
        body.abort(reason);
        close();
      };
      const timeoutMs = request.timeoutMs ?? defaultTimeoutMs;
      const timeout = client.clock.setTimer(timeoutMs, () => fail(`no answer within ${timeoutMs} ms`));
      signal?.addEventListener("abort", onAbort, { once: true });
      permit?.signal.addEventListener("abort", onAbort, { once: true });
      this.#connections.add(connection);
      this.#exchange(client, request, {
        body,
        fail,
        close,
        answer: (status, headers) => settle(() => resolve({ status, headers, body })),
        isOpen: () => this.#connections.has(connection),
      });
    });
  }

  /** The request travels, is served, and the answer travels back; anything can happen on the way. */
  #exchange(client: Client, request: TransportRequest, exchange: Exchange): void {
    const { clock, random, server, observe } = this.#options;
    const { faults } = this;
    const there = drawInt(random, faults.latencyMs);
    const back = drawInt(random, faults.latencyMs);
    const fate = random();
    // These draws are made for every request, so that one request's fate does not shift the next one's.
    const isRefused = chance(random, faults.refusal);
    const cacheLag = drawInt(random, faults.cacheLag);
    const later: Later = (delayMs, act) =>
      void client.clock.setTimer(delayMs, () => {
        if (exchange.isOpen() && !this.#partitioned.has(client.name)) act();
      });
    clock.setTimer(there, () => {
      if (this.#partitioned.has(client.name)) return;
      if (!this.#isServerUp) return later(back, () => exchange.fail("connection refused"));
      if (fate < faults.lostRequest) return later(back, () => exchange.fail("connection reset"));
      if (isRefused) return this.#refuse(later, back, exchange);
      observe?.({ type: "serving", client: client.name, request });
      const answer = this.#serve(request, cacheLag);
      observe?.({ type: "served", client: client.name, request, status: answer.type === "watch" ? 200 : answer.status });
      if (fate < faults.lostRequest + faults.lostAnswer) return later(back, () => exchange.fail("connection reset"));
      if (answer.type === "watch") return this.#deliverWatch(client, answer, { exchange, back, server });
      later(back, () => this.#deliver(answer, exchange, later));
    });
  }

  #serve(request: TransportRequest, cacheLag: number): ServerAnswer {
    const { random, server } = this.#options;
    const isWatchList = request.method === "GET" && request.path.includes("sendInitialEvents=true");
    if (isWatchList && chance(random, this.faults.watchListRefused)) {
      const body = JSON.stringify({
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        reason: "Invalid",
        code: 422,
        message: "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
      });
      return { type: "answer", status: 422, body };
    }
    return server.handle(request, { cacheLag });
  }

  #refuse(later: Later, back: number, exchange: Exchange): void {
    const { random } = this.#options;
    const status = [429, 500, 503][drawInt(random, [0, 2])] ?? 500;
    const body = JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code: status, message: "injected" });
    const answer = { type: "answer" as const, status, body, ...(status === 429 ? { retryAfterSeconds: drawInt(random, [1, 3]) } : {}) };
    later(back, () => this.#deliver(answer, exchange, later));
  }

  /** Hands the answer over in random pieces; now and then it breaks off in the middle. */
  #deliver(answer: ServerAnswer & { readonly type: "answer" }, exchange: Exchange, later: Later): void {
    const { random } = this.#options;
    exchange.answer(answer.status, {
      "content-type": answer.isText ? "text/plain; charset=utf-8" : "application/json",
      ...(answer.retryAfterSeconds === undefined ? {} : { "retry-after": String(answer.retryAfterSeconds) }),
    });
    const isBroken = chance(random, this.faults.lostAnswer / 4);
    const pieces = randomPieces(random, Buffer.from(answer.body));
    for (const piece of isBroken ? pieces.slice(0, -1) : pieces) exchange.body.push(piece);
    later(0, () => {
      if (isBroken) return exchange.fail("the connection broke within the body");
      exchange.body.complete();
      exchange.close();
    });
  }

  #deliverWatch(
    client: Client,
    { session }: ServerAnswer & { readonly type: "watch" },
    { exchange, back, server }: { readonly exchange: Exchange; readonly back: number; readonly server: SimulatedApiServer },
  ): void {
    const { clock, random } = this.#options;
    const delivery = new WatchDelivery({
      session,
      store: server.store,
      clock,
      clientClock: client.clock,
      random,
      faults: () => this.faults,
      isCutOff: () => this.#partitioned.has(client.name),
      isOpen: exchange.isOpen,
      receive: (bytes) => {
        for (const piece of randomPieces(random, bytes)) exchange.body.push(piece);
      },
      end: () => {
        exchange.body.complete();
        exchange.close();
      },
      fail: exchange.fail,
    });
    client.clock.setTimer(back, () => {
      if (!exchange.isOpen()) return;
      exchange.answer(200, { "content-type": "application/json" });
      delivery.start();
    });
  }
}

/** One request under way, as the network sees it. */
interface Exchange {
  readonly body: ChunkStream;
  readonly answer: (status: number, headers: Readonly<Record<string, string>>) => void;
  readonly fail: (reason: string) => void;
  readonly close: () => void;
  readonly isOpen: () => boolean;
}

type Later = (delayMs: number, act: () => void) => void;

/** The bytes in one to four pieces, cut anywhere, within characters too. */
function randomPieces(random: Random, bytes: Uint8Array): readonly Uint8Array[] {
  const cuts = Array.from({ length: drawInt(random, [0, 3]) }, () => drawInt(random, [0, bytes.length])).sort((left, right) => left - right);
  return [0, ...cuts].map((start, index) => bytes.subarray(start, cuts[index] ?? bytes.length)).filter((piece) => piece.length > 0);
}

// The receiving end of a response body: chunks that arrive over time, read once and in order.

/** A body that is filled from outside. What arrives before it is read waits. */
class ChunkStream implements AsyncIterable<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];
  #end: { readonly type: "open" } | { readonly type: "complete" } | { readonly type: "broken"; readonly reason: unknown } = { type: "open" };
  #wake: (() => void) | undefined;

  push(chunk: Uint8Array): void {
    if (this.#end.type !== "open") return;
    this.#chunks.push(chunk);
    this.#wake?.();
  }

  /** The body is complete. */
  complete(): void {
    this.#finish({ type: "complete" });
  }

  /** The connection broke: the reader gets what has arrived and then the reason. */
  break(reason: unknown): void {
    this.#finish({ type: "broken", reason });
  }

  /** The reader gave up: nothing more is handed out. */
  abort(reason: unknown): void {
    this.#chunks.length = 0;
    this.#end = { type: "broken", reason };
    this.#wake?.();
  }

  get isOpen(): boolean {
    return this.#end.type === "open";
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk) {
        yield chunk;
        continue;
      }
      if (this.#end.type === "complete") return;
      if (this.#end.type === "broken") throw this.#end.reason;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }

  #finish(end: { readonly type: "complete" } | { readonly type: "broken"; readonly reason: unknown }): void {
    if (this.#end.type !== "open") return;
    this.#end = end;
    this.#wake?.();
  }
}
