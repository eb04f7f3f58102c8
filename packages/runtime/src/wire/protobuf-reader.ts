// Reads the protobuf wire format: numbered fields of varints, fixed-size numbers and length-prefixed bytes.

// One copy of each short string that comes again and again: namespaces, label keys, types.

const slots = 4096;
const longest = 64;

/**
 * Reads short strings from bytes and gives the same string object for the same bytes. Bounded: a slot taken by another string is taken over,
 * which costs a second copy and nothing else.
 */
export class InternedStrings {
  readonly #table: (string | undefined)[] = Array.from({ length: slots });

  read(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return "";
    if (length > longest) return bytes.toString("utf8", start, end);
    let hash = length;
    for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0;
    const slot = (hash ^ (hash >>> 15)) & (slots - 1);
    const known = this.#table[slot];
    if (known !== undefined && equalsAscii(known, bytes, { start, end })) return known;
    const fresh = bytes.toString("utf8", start, end);
    this.#table[slot] = fresh;
    return fresh;
  }
}

/** False for any text beyond ASCII, whose UTF-8 bytes are not its char codes; such strings are just not shared. */
function equalsAscii(text: string, bytes: Buffer, { start, end }: { readonly start: number; readonly end: number }): boolean {
  if (text.length !== end - start) return false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code !== bytes[start + i] || code > 127) return false;
  }
  return true;
}

/** The bytes are not what the API server's content type promised. */
export class WireError extends Error {
  readonly code = "Wire";
  constructor(message: string) {
    super(message);
    this.name = "WireError";
  }
}

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
