// Reads the protobuf wire format: numbered fields of varints, fixed-size numbers and length-prefixed bytes.
import { InternedStrings } from "./interned-strings.ts";
import { WireError } from "./wire-error.ts";

/** Wire type of text, bytes and messages. */
const lengthDelimited = 2;

/** A cursor over protobuf bytes. Reading beyond the bytes given throws `WireError`. */
export class ProtobufReader {
  #bytes: Buffer;
  #at: number;
  #limit: number;
  readonly #strings: InternedStrings;

  constructor(strings: InternedStrings = new InternedStrings()) {
    this.#bytes = Buffer.alloc(0);
    this.#at = 0;
    this.#limit = 0;
    this.#strings = strings;
  }

  /** Starts over on other bytes. */
  open(bytes: Buffer, start: number, end: number): void {
    this.#bytes = bytes;
    this.#at = start;
    this.#limit = end;
  }

  get at(): number {
    return this.#at;
  }

  /** An integer; exact up to 2^53. Negative ones (ten bytes long) are not expected in what we read. */
  varint(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 10; count++) {
      if (this.#at >= this.#limit) break;
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw new WireError("protobuf: a number does not end");
  }

  /** Reads the length of the coming bytes and returns where they end. */
  block(): number {
    const end = this.varint() + this.#at;
    if (end > this.#limit) throw new WireError("protobuf: a field is longer than its message");
    return end;
  }

  /** The coming bytes as text. */
  text(): string {
    const end = this.block();
    const text = this.#bytes.toString("utf8", this.#at, end);
    this.#at = end;
    return text;
  }

  /** The coming bytes as text that is likely to come again: repeats share one string. */
  sharedText(): string {
    const end = this.block();
    const text = this.#strings.read(this.#bytes, this.#at, end);
    this.#at = end;
    return text;
  }

  /** The coming bytes in base64, as JSON has them. */
  base64(): string {
    const end = this.block();
    const text = this.#bytes.toString("base64", this.#at, end);
    this.#at = end;
    return text;
  }

  /** Moves to `at`, which an earlier `block` gave. */
  moveTo(at: number): void {
    this.#at = at;
  }

  /** Passes over the value of the field that `tag` announced. */
  skip(tag: number): void {
    const wireType = tag & 7;
    if (wireType === lengthDelimited) this.#at = this.block();
    else if (wireType === 0) this.varint();
    else if (wireType === 1) this.#at += 8;
    else if (wireType === 5) this.#at += 4;
    else throw new WireError(`protobuf: unknown wire type ${wireType}`);
    if (this.#at > this.#limit) throw new WireError("protobuf: a field is longer than its message");
  }
}

/** The tag of a field that holds text, bytes or a message. */
export function blockField(number: number): number {
  return number * 8 + lengthDelimited;
}

/** The tag of a field that holds an integer or a boolean. */
export function numberField(number: number): number {
  return number * 8;
}
