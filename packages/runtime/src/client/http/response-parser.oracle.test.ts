// The parser next to Node's own: what it takes for an answer means the same to both, and what it refuses is never an answer that is in order.
import { request } from "node:http";
import { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import { chance, drawInt, drawOne, type Random, seededRandom } from "../../random.ts";
import { AnswerTooLongError } from "../transport.ts";
import { MalformedResponse, ResponseParser } from "./response-parser.ts";

/** `PARSER_RUNS=1000000 SEED=7` for more of them, or others. */
const runs = Number(process.env["PARSER_RUNS"] ?? 10_000);
const firstSeed = Number(process.env["SEED"] ?? 1);

/** An answer in one reading. */
interface Reading {
  readonly status: number;
  /** `name: value`, lower-case names, sorted. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** A generated answer: the pieces in which it comes, and whether anybody may find fault with it. */
interface Generated {
  readonly pieces: readonly Buffer[];
  readonly proper: boolean;
}

const names = ["Content-Type", "x-a", "Date", "Audit-Id", "Warning", "ETag", "Cache-Control", "Server", "X-Kubernetes-Pf-Flowschema-Uid"] as const;
const values = ["application/json", "a, b", '"q"', "", "  padded \t", "x".repeat(300), "Mon, 01 Jan 2026 00:00:00 GMT", "a:b:c", "1"] as const;
const statuses = [200, 200, 200, 201, 202, 204, 304, 400, 401, 404, 409, 410, 422, 429, 500, 503, 504] as const;

function of<T>(random: Random, choices: readonly [T, ...T[]] | readonly T[]): T {
  const [first] = choices;
  const drawn = drawOne(random, choices) ?? first;
  if (drawn === undefined) throw new Error("nothing to choose from");
  return drawn;
}

function text(random: Random, most: number): string {
  return Array.from({ length: drawInt(random, [0, most]) }, () => String.fromCharCode(drawInt(random, [0, 255]))).join("");
}

/** An answer that every reader takes. */
function properAnswer(random: Random): string {
  const status = of(random, statuses);
  const lines = [`HTTP/1.1 ${status} ${of(random, ["OK", "", "Not Found", "Some Reason"])}`];
  for (let count = drawInt(random, [0, 5]); count > 0; count--)
    lines.push(`${of(random, names)}:${of(random, ["", " ", "  ", "\t"])}${of(random, values)}`);
  const before = chance(random, 0.1) ? of(random, ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"]) : "";
  const isEmpty = status === 204 || status === 304;
  if (!isEmpty && chance(random, 0.5)) return `${before}${[...lines, "Transfer-Encoding: chunked"].join("\r\n")}\r\n\r\n${chunks(random)}`;
  const body = isEmpty ? "" : text(random, 60);
  if (!isEmpty) lines.push(`${of(random, ["Content-Length", "content-length"])}: ${body.length}`);
  return `${before}${lines.join("\r\n")}\r\n\r\n${body}`;
}

function chunks(random: Random): string {
  let all = "";
  for (let count = drawInt(random, [0, 4]); count > 0; count--) {
    const chunk = `x${text(random, 40)}`;
    const size = chunk.length.toString(16);
    all += `${chance(random, 0.5) ? size.toUpperCase() : size}${chance(random, 0.2) ? ";a=b" : ""}\r\n${chunk}\r\n`;
  }
  return `${all}0\r\n${chance(random, 0.2) ? "Trailer: x\r\n" : ""}\r\n`;
}

/** Whole lines to put where they do not belong. */
const oddLines = [
  "Content-Length: 3|content-length: 0|Content-Length:|Content-Length: 3, 3|Content-Length : 3|Content-Length: 99999999999999999999|Content-Length: 0x3",
  "Transfer-Encoding: chunked|Transfer-Encoding: gzip, chunked|Transfer-Encoding: identity|Transfer-Encoding: chunked, identity|Transfer-Encoding:",
  "Transfer-Encoding: CHUNKED|transfer-encoding: chunked, chunked|Transfer-Encoding: xchunked|Transfer-Encoding: chunked;q=1|Transfer-Encoding : chunked",
  'Transfer-Encoding: chunked\t|Transfer-Encoding:\tchunked|Transfer-Encoding: chunked \t |Transfer-Encoding: chunked,|Transfer-Encoding: ,chunked|Transfer-Encoding: "chunked"',
  "Content-Length: 3\t|Content-Length:\t3 |Content-Length: +3|Content-Length: 3,|Content-Length: 03|Content-Length: 3.0|Connection: close\t|Connection: x\t,close",
  "Connection: close|Connection: upgrade|Upgrade: h2c|Connection: keep-alive|Keep-Alive: timeout=5|Proxy-Connection: close|Trailer: x",
  "constructor: x|__proto__: x|0: x| folded|\tfolded|: no name|no colon|b@d: 1|\xe9: 1|a: \xe9|a: \x01|a\0: 1|a: b\0",
  "HTTP/1.0 200 OK|HTTP/2 200 OK|HTTP/1.1 99 X|HTTP/1.1 2000 X|HTTP/1.1 101 X|HTTP/1.1 100|HTTP/1.1 200 OK|http/1.1 200 OK|HTTP/1.1  200 OK|0|3|3;a|-1|",
].flatMap((lines) => lines.split("|").map((line) => `${line}\r\n`));

/** And whatever else can go wrong. */
const oddText = [
  ...Array.from("\r\n \t\0:;,+-0123456789abcdefxX\x7f\x80\xa0\xff\v\f"),
  "\r\n\r\n",
  "\n\n",
  "\r\r\n",
  "\n\r\n",
  "0x1",
  "1e1",
  "ffffffffffffffff",
];
const oddities = [...oddLines, ...oddLines, ...oddText];

/** Spoils an answer in one to three places, mostly in its head. */
function spoilt(random: Random, answer: string): string {
  let wire = answer;
  for (let count = drawInt(random, [1, 3]); count > 0; count--) {
    const head = wire.indexOf("\r\n\r\n") + 4;
    const at = drawInt(random, [0, chance(random, 0.7) ? Math.max(0, head) : wire.length]);
    const line = chance(random, 0.5) ? wire.indexOf("\r\n", at) + 2 : at;
    const place = line < 2 ? at : line;
    const left = chance(random, 0.5) ? 0 : drawInt(random, [1, 3]);
    wire = wire.slice(0, place) + (chance(random, 0.8) ? of(random, oddities) : "") + wire.slice(place + left);
  }
  return wire;
}

function generate(random: Random): Generated {
  const answer = properAnswer(random);
  const proper = chance(random, 0.3);
  const wire = Buffer.from(proper ? answer : spoilt(random, answer), "latin1");
  const end = proper || chance(random, 0.7) ? wire.length : drawInt(random, [0, wire.length]);
  const pieces: Buffer[] = [];
  for (let at = 0; at < end;) {
    const size = chance(random, 0.4) ? end : drawInt(random, [1, 80]);
    pieces.push(wire.subarray(at, Math.min(end, at + size)));
    at += size;
  }
  return { pieces, proper };
}

/** What our parser makes of it; a message if it refuses it, or if it does not end. */
function ourReading(pieces: readonly Buffer[]): (Reading & { readonly reusable: boolean }) | string {
  const parser = new ResponseParser();
  const body: Uint8Array[] = [];
  let head: { readonly status: number; readonly headers: Readonly<Record<string, string>> } | undefined;
  parser.begin({ onHead: (read) => (head = read), onData: (bytes) => body.push(bytes) });
  try {
    // Copies, for the parser takes over what it takes.
    const ended = pieces.some((piece) => parser.take(Buffer.from(piece))) || parser.finish();
    if (!ended || !head) return "it does not end";
  } catch (error) {
    if (error instanceof MalformedResponse || error instanceof AnswerTooLongError) return error.message;
    throw error;
  }
  const headers = Object.entries(head.headers)
    .map(([name, value]) => `${name}: ${value}`)
    .toSorted();
  return { status: head.status, headers, body: Buffer.concat(body).toString("latin1"), reusable: parser.reusable && !isFollowed(parser, pieces) };
}

/** Whether anything comes after the answer that the parser has read, which it has to complain about. */
function isFollowed(parser: ResponseParser, pieces: readonly Buffer[]): boolean {
  const last = pieces.at(-1);
  if (!last || endOf(Buffer.concat(pieces)) === Buffer.concat(pieces).length) return false;
  expect(() => parser.take(Buffer.from(last))).toThrow(MalformedResponse);
  return true;
}

/** Where an answer ends that is followed by something else, of which Node complains before it hands the answer out. */
function endOf(wire: Buffer): number {
  const parser = new ResponseParser();
  parser.begin({ onHead() {}, onData() {} });
  for (let at = 0; at < wire.length; at++) if (parser.take(wire.subarray(at, at + 1))) return at + 1;
  return wire.length;
}

/** What Node's makes of it; a message if it refuses it, or if it does not end. */
function nodesReading(pieces: readonly Buffer[]): Promise<Reading | string> {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read() {},
      write(_chunk, _encoding, done) {
        done();
      },
    });
    const asked = request({ method: "GET", path: "/", host: "x", createConnection: () => socket });
    const settle = (reading: Reading | string): void => {
      asked.destroy();
      resolve(reading);
    };
    asked.on("error", (error) => settle(error.message));
    asked.on("upgrade", () => settle("an upgrade"));
    asked.on("response", (response) => {
      const body: Buffer[] = [];
      response.on("data", (bytes: Buffer) => body.push(bytes));
      response.on("error", (error) => settle(error.message));
      response.on("close", () => settle("it was broken off"));
      response.on("end", () => {
        if (!response.complete) return settle("it is not complete");
        settle({ status: response.statusCode ?? 0, headers: joined(response.rawHeaders), body: Buffer.concat(body).toString("latin1") });
      });
    });
    asked.end();
    setImmediate(() => {
      for (const piece of pieces) socket.push(piece);
      socket.push(null);
    });
  });
}

/** As ours are: in lower case, and those that come twice as one. */
function joined(raw: readonly string[]): readonly string[] {
  const headers = new Map<string, string>();
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]?.toLowerCase() ?? "";
    const known = headers.get(name);
    headers.set(name, known === undefined ? (raw[at + 1] ?? "") : `${known}, ${raw[at + 1] ?? ""}`);
  }
  return Array.from(headers, ([name, value]) => `${name}: ${value}`).toSorted();
}

describe("an answer", () => {
  it("means the same as to Node's parser, or is refused; one that is in order is not", { timeout: 3_600_000 }, async ({ annotate }) => {
    const tally = { alike: 0, refused: 0, refusedByBoth: 0 };
    for (let first = 0; first < runs; first += 200) {
      const batch = Array.from({ length: Math.min(200, runs - first) }, async (_, index) => {
        const seed = firstSeed + first + index;
        const { pieces, proper } = generate(seededRandom(seed));
        const ours = ourReading(pieces);
        const wire = Buffer.concat(pieces);
        const said = `seed ${seed}: ${JSON.stringify(wire.toString("latin1"))}`;
        if (typeof ours === "string") {
          expect({ said, ours, proper }).toMatchObject({ proper: false });
          tally[typeof (await nodesReading(pieces)) === "string" ? "refusedByBoth" : "refused"]++;
          return;
        }
        const { reusable, ...reading } = ours;
        const end = endOf(wire);
        expect({ said, reading: await nodesReading(end < wire.length ? [wire.subarray(0, end)] : pieces) }).toEqual({ said, reading });
        // What follows must not be taken for the next answer.
        if (end < wire.length) expect({ said, reusable }).toEqual({ said, reusable: false });
        tally.alike++;
      });
      await Promise.all(batch);
    }
    await annotate(JSON.stringify(tally));
    // A parser that refuses everything would not do.
    expect(tally.alike).toBeGreaterThan(runs / 4);
  });
});
