// The body of an HTTP response as an async iterable of the very buffers that arrived.

/** Reading pauses when this much waits for the consumer; about four reads of a socket. */
const highWaterBytes = 256 * 1024;

/** Where the body comes from. */
export interface BodySource {
  pause(): void;
  resume(): void;
  /** Nobody wants the rest. */
  leave(): void;
}

type Phase = { readonly type: "open" } | { readonly type: "ended" } | { readonly type: "failed"; readonly error: unknown };

interface Waiter {
  readonly resolve: (result: IteratorResult<Uint8Array, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

const open: Phase = { type: "open" };
const ended: Phase = { type: "ended" };
const done: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined };

/** Iterates once over the body. Chunks are not copied or joined. A body that fails does so after the chunks that did arrive, unless it is `abort`ed. Leaving the loop early leaves the source. */
export class ResponseBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #source: BodySource;
  #phase: Phase = open;
  #chunks: Uint8Array[] = [];
  #bufferedBytes = 0;
  #paused = false;
  #waiter: Waiter | undefined;

  constructor(source: BodySource) {
    this.#source = source;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const chunk = this.#chunks.shift();
    if (chunk) {
      this.#bufferedBytes -= chunk.byteLength;
      return Promise.resolve({ done: false, value: chunk });
    }
    if (this.#phase.type === "ended") return Promise.resolve(done);
    if (this.#phase.type === "failed") return Promise.reject(this.#phase.error);
    if (this.#paused) {
      this.#paused = false;
      this.#source.resume();
    }
    return new Promise((resolve, reject) => (this.#waiter = { resolve, reject }));
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    const wasOpen = this.#phase.type === "open";
    this.#chunks = [];
    this.end();
    if (wasOpen) this.#source.leave();
    return Promise.resolve(done);
  }

  /** A chunk has arrived. */
  take(chunk: Uint8Array): void {
    const waiter = this.#waiter;
    if (waiter) {
      this.#waiter = undefined;
      waiter.resolve({ done: false, value: chunk });
      return;
    }
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.byteLength;
    if (this.#bufferedBytes < highWaterBytes || this.#paused) return;
    this.#paused = true;
    this.#source.pause();
  }

  /** That was all. */
  end(): void {
    this.#settle(ended);
  }

  /** There will be no more. */
  fail(error: unknown): void {
    this.#settle({ type: "failed", error });
  }

  /** Nothing more is wanted, what has arrived included. */
  abort(error: unknown): void {
    this.#chunks = [];
    if (this.#phase.type === "ended") this.#phase = { type: "failed", error };
    this.fail(error);
  }

  #settle(phase: Phase): void {
    if (this.#phase.type !== "open") return;
    this.#phase = phase;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (phase.type === "failed") waiter?.reject(phase.error);
    else waiter?.resolve(done);
  }
}
