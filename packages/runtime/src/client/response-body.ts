// The body of an HTTP response as an async iterable of the very buffers that arrived.
import type { IncomingMessage } from "node:http";

/** Reading pauses when this much waits for the consumer; about four reads of a socket. */
const highWaterBytes = 256 * 1024;

type Phase = { readonly type: "open" } | { readonly type: "ended" } | { readonly type: "failed"; readonly error: unknown };

interface Waiter {
  readonly resolve: (result: IteratorResult<Uint8Array, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

const done: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined };

/**
 * Iterates once over the body. Chunks are not copied or joined, unlike those of node's own stream iterator.
 * A body that breaks off ends with `describe(cause)`, after the chunks that did arrive; one that is aborted ends at once with the signal's reason.
 * Leaving the loop early closes the connection.
 */
export class ResponseBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #incoming: IncomingMessage;
  readonly #describe: (cause: unknown) => Error;
  readonly #signal: AbortSignal | undefined;
  #phase: Phase = { type: "open" };
  #chunks: Uint8Array[] = [];
  #bufferedBytes = 0;
  #flowing = false;
  #waiter: Waiter | undefined;

  constructor(incoming: IncomingMessage, describe: (cause: unknown) => Error, signal?: AbortSignal) {
    this.#incoming = incoming;
    this.#describe = describe;
    this.#signal = signal;
    incoming.on("end", () => this.#settle({ type: "ended" }));
    incoming.on("error", (cause) => this.#settle(this.#failure(cause)));
    incoming.on("close", () => {
      // Follows every end; only where there was none is it worth an error, whose stack is costly.
      if (this.#phase.type === "open") this.#settle(this.#failure(new Error("connection closed before the end of the body")));
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#signal?.aborted) return Promise.reject(this.#signal.reason);
    const chunk = this.#chunks.shift();
    if (chunk) {
      this.#bufferedBytes -= chunk.byteLength;
      return Promise.resolve({ done: false, value: chunk });
    }
    if (this.#phase.type === "ended") return Promise.resolve(done);
    if (this.#phase.type === "failed") return Promise.reject(this.#phase.error);
    this.#flow();
    return new Promise((resolve, reject) => (this.#waiter = { resolve, reject }));
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#chunks = [];
    this.#settle({ type: "ended" });
    if (!this.#incoming.readableEnded) this.#incoming.destroy();
    return Promise.resolve(done);
  }

  #flow(): void {
    if (!this.#flowing) {
      this.#flowing = true;
      this.#incoming.on("data", (chunk: Uint8Array) => this.#take(chunk));
    } else if (this.#incoming.isPaused()) {
      this.#incoming.resume();
    }
  }

  #take(chunk: Uint8Array): void {
    const waiter = this.#waiter;
    if (waiter) {
      this.#waiter = undefined;
      waiter.resolve({ done: false, value: chunk });
      return;
    }
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.byteLength;
    if (this.#bufferedBytes >= highWaterBytes) this.#incoming.pause();
  }

  #failure(cause: unknown): Phase {
    return { type: "failed", error: this.#signal?.aborted ? this.#signal.reason : this.#describe(cause) };
  }

  /** The first end counts: `close` follows both `end` and `error`. */
  #settle(phase: Phase): void {
    if (this.#phase.type !== "open") return;
    this.#phase = phase;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (phase.type === "failed") waiter?.reject(phase.error);
    else waiter?.resolve(done);
  }
}
