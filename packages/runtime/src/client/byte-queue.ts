// Bytes as they come from the network, in pieces of the sender's choice, held until what they are part of is whole.

/** Enough for most events. A process can have thousands of watches on which hardly anything happens. */
const minCapacity = 4 * 1024;
/** A buffer that one huge frame has blown up beyond this is let go once it is empty. */
const maxKeptCapacity = 1024 * 1024;

/**
 * A queue of bytes in one buffer that is reused. Each byte is copied in once and moved rarely, so splitting a stream into frames costs linear time,
 * and nothing that was read keeps the network's chunks alive.
 */
export class ByteQueue {
  #bytes = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  /** Valid between `start` and `end`, until the next `push`. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#end;
  }

  get length(): number {
    return this.#end - this.#start;
  }

  push(chunk: Uint8Array): void {
    this.#makeRoom(chunk.length);
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** Drops the first `count` bytes. */
  drop(count: number): void {
    this.#start += count;
    if (this.#start < this.#end) return;
    this.#start = 0;
    this.#end = 0;
    if (this.#bytes.length > maxKeptCapacity) this.#bytes = Buffer.alloc(0);
  }

  #makeRoom(count: number): void {
    if (this.#end + count <= this.#bytes.length) return;
    const held = this.length;
    // Moving within the buffer only when it is at most half full keeps the cost of moving below that of the bytes that came in.
    if ((held + count) * 2 <= this.#bytes.length) {
      this.#bytes.copyWithin(0, this.#start, this.#end);
    } else {
      const larger = Buffer.allocUnsafeSlow(Math.max(minCapacity, this.#bytes.length * 2, (held + count) * 2));
      this.#bytes.copy(larger, 0, this.#start, this.#end);
      this.#bytes = larger;
    }
    this.#start = 0;
    this.#end = held;
  }
}

// The whole body of a response, for answers that are read in one piece.

/**
 * Reads `body` to its end; `received` hears of each piece's length. Undefined if it is longer than `maxBytes`, in which case the rest is not read.
 *
 * Pieces are put together as they come: each is an object, and a server can send one for every byte.
 */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  received: (count: number) => void = () => {},
): Promise<Buffer | undefined> {
  let first: Uint8Array = Buffer.alloc(0);
  let queue: ByteQueue | undefined;
  let length = 0;
  for await (const piece of body) {
    received(piece.byteLength);
    length += piece.byteLength;
    if (length > maxBytes) return undefined;
    // Most bodies are a single piece, which need not be copied.
    if (length === piece.byteLength) {
      first = piece;
      continue;
    }
    if (!queue) {
      queue = new ByteQueue();
      queue.push(first);
    }
    queue.push(piece);
  }
  if (queue) return queue.bytes.subarray(queue.start, queue.end);
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
}
