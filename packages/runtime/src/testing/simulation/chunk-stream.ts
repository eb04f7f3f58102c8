// The receiving end of a response body: chunks that arrive over time, read once and in order.

/** A body that is filled from outside. What arrives before it is read waits. */
export class ChunkStream implements AsyncIterable<Uint8Array> {
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
