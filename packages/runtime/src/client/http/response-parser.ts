// HTTP/1.1 responses out of the bytes of a connection, as they come. Only a head that arrives in pieces is copied, and chunks are moved together.

import { AnswerTooLongError } from "../transport.ts";
import { runtimeLimits } from "../../limits.ts";

/** A response up to its body. */
export interface ResponseHead {
  readonly status: number;
  /** Lower-case names; repeated ones joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What takes a response, part by part. */
export interface ResponseSink {
  onHead(head: ResponseHead): void;
  /** A piece of the body, never empty. */
  onData(bytes: Uint8Array): void;
}

/** The bytes are no HTTP/1.1 response. Never quotes them: they may be secret. */
export class MalformedResponse extends Error {
  readonly code = "MalformedResponse";
  constructor(message: string) {
    super(message);
    this.name = "MalformedResponse";
  }
}

/** Where in a response the next byte belongs. */
type Place =
  | { readonly type: "none" }
  | { readonly type: "head" }
  | { readonly type: "sized"; left: number }
  | { readonly type: "untilClose" }
  | { readonly type: "chunkSize" }
  | { readonly type: "chunk"; left: number }
  | { readonly type: "chunkEnd" }
  | { readonly type: "trailers" };

const none: Place = { type: "none" };
const inHead: Place = { type: "head" };
const untilClose: Place = { type: "untilClose" };
const chunkSize: Place = { type: "chunkSize" };
const chunkEnd: Place = { type: "chunkEnd" };
const trailers: Place = { type: "trailers" };

const blankLine = Buffer.from("\r\n\r\n");
const newline = Buffer.from("\r\n");
/** Go's servers send at most 1 MiB of headers; nobody sends more than a few kB. */
const defaultMaxHeadBytes = runtimeLimits.answerHeadBytes;
/** A chunk's size with whatever extensions follow it. */
const { answerLineBytes: maxLineBytes } = runtimeLimits;
/** What may stand around the bytes of a body, for each of them, besides one head: a chunk of a single byte has five. */
const maxBytesAround = 8;

/** A piece of text that ends with a delimiter, and what is done with it. */
interface DelimitedText {
  readonly delimiter: Buffer;
  readonly maxBytes: number;
  readonly read: (text: string) => void;
}

function lineOf(read: (line: string) => void, maxBytes = maxLineBytes): DelimitedText {
  return { delimiter: newline, maxBytes, read };
}

/**
 * Reads one response after another.
 *
 * Guarantees: the same calls of the sink, but for where the body is cut, however the bytes are cut; a response that is reported to its end was whole;
 * where two readings are possible, it throws. A success whose end is nothing but the connection's is never whole: nobody can tell it from one that was cut,
 * in TLS either, since Node does not say whether the server took its leave. No memory beyond `maxHeadBytes` is taken, and heads, interim answers, the
 * beginnings of chunks and trailers are together no longer than that and eight times the body: whoever limits the body limits all that is read.
 */
export class ResponseParser {
  #place: Place = none;
  #sink: ResponseSink | undefined;
  /** The beginning of a head or line whose end has not come. */
  #pending: Buffer | undefined;
  #reusable = true;
  #keepAliveMs: number | undefined;
  /** Of the answer under way. */
  #status = 0;
  #aroundBytes = 0;
  #bodyBytes = 0;
  /** Where in the bytes at hand the body stands that is still to be handed on. */
  #dataStart = 0;
  #dataEnd = 0;
  readonly #maxHeadBytes: number;
  // Made once for each connection: every answer is read with the first, and every event of a watch with two of the others.
  readonly #head: DelimitedText;
  readonly #chunkSize = lineOf((line) => this.#readChunkSize(line));
  readonly #chunkEnd = lineOf((line) => {
    if (line !== "") throw new MalformedResponse("a chunk of the answer is longer than it says");
    this.#place = chunkSize;
  });
  readonly #trailer: DelimitedText;

  constructor(maxHeadBytes = defaultMaxHeadBytes) {
    this.#maxHeadBytes = maxHeadBytes;
    this.#head = { delimiter: blankLine, maxBytes: maxHeadBytes, read: (text) => this.#readHead(text) };
    this.#trailer = lineOf((line) => this.#readTrailer(line), maxHeadBytes);
  }

  /** False once the connection must not carry another request. */
  get reusable(): boolean {
    return this.#reusable;
  }

  /** For how long the server says that it keeps the connection open. */
  get keepAliveMs(): number | undefined {
    return this.#keepAliveMs;
  }

  /** The next response goes to `sink`. */
  begin(sink: ResponseSink): void {
    this.#sink = sink;
    this.#place = inHead;
    this.#aroundBytes = this.#bodyBytes = 0;
  }

  /** Takes bytes, and takes them over: the sink gets them, in one piece at most. True when they end the response. Throws `MalformedResponse`. */
  take(bytes: Buffer): boolean {
    try {
      let at = 0;
      while (at < bytes.length) {
        const next = this.#step(bytes, at);
        if (this.#place.type === "none") {
          if (next < bytes.length) this.#reusable = false;
          return true;
        }
        at = next;
      }
      return false;
    } finally {
      this.#handOn(bytes);
    }
  }

  /** The connection has ended; true if that ends the response too. */
  finish(): boolean {
    const whole = this.#place.type === "untilClose" && this.#status >= 300;
    this.#place = none;
    this.#reusable = false;
    return whole;
  }

  /** Reads what is at `at` and returns where the next thing is. */
  #step(bytes: Buffer, at: number): number {
    const place = this.#place;
    switch (place.type) {
      case "head":
        return this.#through(bytes, at, this.#head);
      case "sized":
      case "chunk":
        return this.#body(bytes, at, place);
      case "untilClose":
        this.#emit(bytes, at, bytes.length);
        return bytes.length;
      case "chunkSize":
        return this.#through(bytes, at, this.#chunkSize);
      case "chunkEnd":
        return this.#through(bytes, at, this.#chunkEnd);
      case "trailers":
        return this.#through(bytes, at, this.#trailer);
      case "none":
      default:
        throw new MalformedResponse("the server sent something that nobody asked for");
    }
  }

  #body(bytes: Buffer, at: number, place: Extract<Place, { readonly left: number }>): number {
    const end = Math.min(bytes.length, at + place.left);
    place.left -= end - at;
    this.#emit(bytes, at, end);
    if (place.left === 0) this.#place = place.type === "chunk" ? chunkEnd : none;
    return end;
  }

  /** Closes the gaps that chunks leave between the pieces of a body. A piece of its own for each chunk would let a server make us an object for every byte. */
  #emit(bytes: Buffer, from: number, end: number): void {
    this.#bodyBytes += end - from;
    if (this.#dataStart === this.#dataEnd) this.#dataStart = this.#dataEnd = from;
    else bytes.copyWithin(this.#dataEnd, from, end);
    this.#dataEnd += end - from;
  }

  #handOn(bytes: Buffer): void {
    const [from, end] = [this.#dataStart, this.#dataEnd];
    this.#dataStart = this.#dataEnd = 0;
    if (from < end) this.#sink?.onData(from === 0 && end === bytes.length ? bytes : bytes.subarray(from, end));
  }

  /** Reads everything up to a delimiter, of which the beginning may have come before, and returns where the next thing is. */
  #through(bytes: Buffer, at: number, { delimiter, maxBytes, read }: DelimitedText): number {
    const before = this.#pending;
    const all = before ? Buffer.concat([before, at === 0 ? bytes : bytes.subarray(at)]) : bytes;
    const start = before ? 0 : at;
    const end = all.indexOf(delimiter, before ? Math.max(0, before.length - delimiter.length + 1) : at);
    if ((end < 0 ? all.length : end) - start > maxBytes) throw new AnswerTooLongError("head", maxBytes);
    if (end < 0) {
      // A copy: what is at hand may be part of something large.
      this.#pending = before ? all : Buffer.from(bytes.subarray(at));
      return bytes.length;
    }
    this.#pending = undefined;
    this.#aroundBytes += end - start;
    if (this.#aroundBytes > this.#maxHeadBytes + maxBytesAround * this.#bodyBytes) throw new AnswerTooLongError("head", this.#maxHeadBytes);
    read(all.toString("latin1", start, end));
    return before ? at + (end + delimiter.length - before.length) : end + delimiter.length;
  }

  #readHead(text: string): void {
    const [, minor, code] = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |\r\n|$)/.exec(text) ?? [];
    if (code === undefined) throw new MalformedResponse("the answer is no HTTP/1.1");
    // A lone CR or LF ends a line for some readers, and a zero a text (RFC 9110, section 5.5).
    if (unfitForHead.test(text)) throw new MalformedResponse("the answer's head has characters that do not belong there");
    const status = Number(code);
    const headers = readHeaders(text);
    const { connection, "keep-alive": keepAlive } = headers;
    if (status === 101 || (headers["upgrade"] !== undefined && connection !== undefined && /\bupgrade\b/i.test(connection)))
      throw new MalformedResponse("the server switched to another protocol");
    // An interim answer, such as 103: the real one follows. It has no body, and is not the last.
    if (status < 200) {
      if (minor === "0" || Object.keys(headers).some((name) => framing.has(name)))
        throw new MalformedResponse("an interim answer says where it ends");
      return;
    }
    this.#status = status;
    if (minor === "0" || (connection !== undefined && /\bclose\b/i.test(connection))) this.#reusable = false;
    const hint = keepAlive === undefined ? undefined : /\btimeout=(\d+)/.exec(keepAlive)?.[1];
    this.#keepAliveMs = hint === undefined ? undefined : Number(hint) * 1000;
    const place = bodyPlace(headers);
    this.#place = status === 204 || status === 304 ? none : place;
    this.#sink?.onHead({ status, headers });
  }

  #readChunkSize(line: string): void {
    const size = /^([0-9a-f]{1,12})(?:;\w+(?:=\w+)?)*$/i.exec(line)?.[1];
    if (size === undefined) throw new MalformedResponse("the size of a chunk of the answer is no number");
    const left = Number.parseInt(size, 16);
    this.#place = left === 0 ? trailers : { type: "chunk", left };
  }

  /** A header after the body, which nobody reads; but what is none may be the beginning of another answer. */
  #readTrailer(line: string): void {
    if (line === "") return void (this.#place = none);
    if (unfitForHead.test(line)) throw new MalformedResponse("the answer's trailers have characters that do not belong there");
    const [name] = readHeader(line);
    if (framing.has(name)) throw new MalformedResponse("a trailer of the answer says where the answer ends");
  }
}

/** Where the body begins, by the headers alone. */
function bodyPlace({ "transfer-encoding": coding, "content-length": length }: ResponseHead["headers"]): Place {
  if (coding !== undefined) {
    if (coding.toLowerCase() !== "chunked") throw new MalformedResponse("the answer has a transfer encoding other than chunked");
    // Something in between may have read it differently.
    if (length !== undefined) throw new MalformedResponse("the answer has both a length and chunks");
    return chunkSize;
  }
  if (length === undefined) return untilClose;
  const left = /^\d{1,15}$/.test(length) ? Number(length) : Number.NaN;
  if (Number.isNaN(left)) throw new MalformedResponse("the answer's length is no number");
  return left === 0 ? none : { type: "sized", left };
}

/** Everything but text, tabs and whole line ends. */
const unfitForHead = /[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n)|(?<!\r)\n/;
/** What neither a trailer (RFC 9110, section 6.5.1) nor an interim answer may say: some readers would believe it. */
const framing: ReadonlySet<string> = new Set(["content-length", "transfer-encoding", "connection", "proxy-connection", "keep-alive", "upgrade"]);
const unfitForName = /[^!#$%&'*+\-.^_`|~0-9a-z]/;

/** The headers of a head, whose first line is the status. */
function readHeaders(head: string): Record<string, string> {
  // Without a prototype: a header may be called `constructor`.
  const headers = Object.create(null) as Record<string, string>;
  for (let start = head.indexOf("\r\n"); start >= 0;) {
    const end = head.indexOf("\r\n", start + 2);
    const line = head.slice(start + 2, end < 0 ? head.length : end);
    const [name, value] = readHeader(line);
    const known = headers[name];
    // With a tab behind it, the coding is another one to llhttp, which then takes the chunks for the body.
    if (name === "transfer-encoding" && line.includes("\t")) throw new MalformedResponse("the answer has a transfer encoding with a tab");
    // Two lengths are two readings, also where they agree.
    if (known !== undefined && name === "content-length") throw new MalformedResponse("the answer has two lengths");
    headers[name] = known === undefined ? value : `${known}, ${value}`;
    start = end;
  }
  return headers;
}

/** The name, in lower case, and the value of one header. */
function readHeader(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  const name = line.slice(0, colon).toLowerCase();
  if (colon <= 0 || unfitForName.test(name)) throw new MalformedResponse("a header of the answer has no proper name");
  return [name, withoutPadding(line, colon + 1)];
}

/** The rest of a line without the spaces and tabs at its ends, and those alone: to `trim` there are others. */
function withoutPadding(line: string, from: number): string {
  let [start, end] = [from, line.length];
  while (start < end && isPadding(line.charCodeAt(start))) start++;
  while (end > start && isPadding(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

function isPadding(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

// The body of an HTTP response as an async iterable of the very buffers that arrived.

/** Reading pauses when this much waits for the consumer; about four reads of a socket. */
const highWaterBytes = 256 * 1024;

/** Where the body comes from. */
interface BodySource {
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
