// Bytes as they come from the network, held until a whole frame is there.

/** Enough for most events. A process can have thousands of watches on which hardly anything happens. */
const smallestCapacity = 4 * 1024;
/** A buffer that one huge frame has blown up beyond this is let go once it is empty. */
const largestKeptCapacity = 1024 * 1024;

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
    if (this.#bytes.length > largestKeptCapacity) this.#bytes = Buffer.alloc(0);
  }

  #makeRoom(count: number): void {
    if (this.#end + count <= this.#bytes.length) return;
    const held = this.length;
    // Moving within the buffer only when it is at most half full keeps the cost of moving below that of the bytes that came in.
    if ((held + count) * 2 <= this.#bytes.length) {
      this.#bytes.copyWithin(0, this.#start, this.#end);
    } else {
      const larger = Buffer.allocUnsafeSlow(Math.max(smallestCapacity, this.#bytes.length * 2, (held + count) * 2));
      this.#bytes.copy(larger, 0, this.#start, this.#end);
      this.#bytes = larger;
    }
    this.#start = 0;
    this.#end = held;
  }
}
