// Responses read from bytes that were cut anywhere.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MalformedResponse, type ResponseHead, ResponseParser } from "./response-parser.ts";

/** What one who listens has heard. */
class Heard {
  head: ResponseHead | undefined;
  readonly body: Uint8Array[] = [];

  onHead(head: ResponseHead): void {
    this.head = head;
  }

  onData(bytes: Uint8Array): void {
    expect(bytes.length).toBeGreaterThan(0);
    this.body.push(bytes);
  }

  get text(): string {
    return Buffer.concat(this.body).toString("latin1");
  }
}

const bytes = (text: string): Buffer => Buffer.from(text, "latin1");

interface Written {
  readonly status: number;
  readonly body: string;
  readonly wire: string;
}

const body = fc.string({ unit: "binary-ascii", maxLength: 200 });

const sized: fc.Arbitrary<Written> = fc.record({ status: fc.constantFrom(200, 404, 500), body }).map(({ status, body: text }) => ({
  status,
  body: text,
  wire: `HTTP/1.1 ${status} Some Reason\r\nContent-Length: ${text.length}\r\nA: 1\r\n\r\n${text}`,
}));

const chunked: fc.Arbitrary<Written> = fc
  .record({
    chunks: fc.array(fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 80 }), { maxLength: 5 }),
    extended: fc.boolean(),
    trailer: fc.boolean(),
  })
  .map(({ chunks, extended, trailer }) => ({
    status: 200,
    body: chunks.join(""),
    wire: [
      "HTTP/1.1 200 OK\r\nA: 1\r\ntransfer-encoding: Chunked\r\n\r\n",
      ...chunks.map((chunk) => `${chunk.length.toString(16)}${extended ? ";x=y" : ""}\r\n${chunk}\r\n`),
      `0\r\n${trailer ? "a: b\r\n" : ""}\r\n`,
    ].join(""),
  }));

const empty: fc.Arbitrary<Written> = fc.constantFrom(204, 304).map((status) => ({ status, body: "", wire: `HTTP/1.1 ${status}\r\nA: 1\r\n\r\n` }));
const interim = fc.constantFrom("", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
const response = fc
  .tuple(interim, fc.oneof(sized, chunked, empty))
  .map(([before, { status, body: text, wire }]) => ({ status, body: text, wire: before + wire }));

/** The wire in pieces, cut at the given places. */
function cut(wire: Buffer, places: readonly number[]): readonly Buffer[] {
  const at = [...new Set(places.map((place) => place % (wire.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...at].map((from, index) => wire.subarray(from, at[index] ?? wire.length)).filter((piece) => piece.length > 0);
}

describe("responses", () => {
  it("are the same however their bytes are cut, one after another on one connection", () => {
    const several = fc.array(fc.tuple(response, fc.array(fc.nat({ max: 5000 }), { maxLength: 12 })), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(several, (responses) => {
        const parser = new ResponseParser();
        for (const [written, places] of responses) {
          const heard = new Heard();
          parser.begin(heard);
          const pieces = cut(bytes(written.wire), places);
          expect(pieces.map((piece) => parser.take(piece))).toEqual(pieces.map((_, index) => index === pieces.length - 1));
          expect(heard.head).toMatchObject({ status: written.status, headers: { a: "1" } });
          expect(heard.text).toBe(written.body);
          expect(parser.reusable).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("are never taken for whole when some of their end is missing", () => {
    fc.assert(
      fc.property(response, fc.nat({ max: 5000 }), ({ wire }, place) => {
        const parser = new ResponseParser();
        parser.begin(new Heard());
        const end = place % wire.length;
        if (end > 0) expect(parser.take(bytes(wire.slice(0, end)))).toBe(false);
        expect(parser.finish()).toBe(false);
      }),
    );
  });

  it.each(["A: 1\nB: 2", "A: 1\n", "A: 1\rB: 2", "A: 1\r", "A: 1\0", "A: 1\r\nB\n: 2"])(
    "with a line break that is none are refused: %j",
    (header) => {
      const parser = new ResponseParser();
      parser.begin(new Heard());
      expect(() => parser.take(bytes(`HTTP/1.1 204 No Content\r\n${header}\r\n\r\n`))).toThrow(MalformedResponse);
    },
  );

  it("fail on any bytes with nothing but a MalformedResponse that does not quote them", () => {
    const begun = fc.constantFrom("", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    fc.assert(
      fc.property(begun, fc.uint8Array({ maxLength: 300 }), (start, noise) => {
        const parser = new ResponseParser();
        parser.begin(new Heard());
        try {
          parser.take(Buffer.concat([bytes(start), noise, bytes("\r\n\r\n\r\n\r\n")]));
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedResponse);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe("the connection", () => {
  const parsed = (wire: string): { readonly parser: ResponseParser; readonly heard: Heard; readonly ended: boolean } => {
    const parser = new ResponseParser();
    const heard = new Heard();
    parser.begin(heard);
    return { parser, heard, ended: parser.take(bytes(wire)) };
  };

  it.each([
    ["says close", "HTTP/1.1 200 OK\r\nConnection: keep-alive, Close\r\ncontent-length: 2\r\n\r\nok"],
    ["speaks HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok"],
    ["sends more than it said", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n"],
  ])("is not used again when the server %s", (_, wire) => {
    const { parser, heard, ended } = parsed(wire);
    expect({ ended, text: heard.text, reusable: parser.reusable }).toEqual({ ended: true, text: "ok", reusable: false });
  });

  it("does not end a success that has no other end: it may have been cut", () => {
    const { parser, heard, ended } = parsed("HTTP/1.1 200 OK\r\n\r\nok");
    expect({ ended, finished: parser.finish(), text: heard.text }).toEqual({ ended: false, finished: false, text: "ok" });
  });

  it("ends an error page that has no other end, for its status says enough", () => {
    const { parser, heard, ended } = parsed("HTTP/1.0 502 Bad Gateway\r\n\r\nno");
    expect({ ended, finished: parser.finish(), text: heard.text }).toEqual({ ended: false, finished: true, text: "no" });
  });

  it("may name a header as JavaScript names something else", () => {
    const { heard } = parsed("HTTP/1.1 204 X\r\nconstructor: a\r\n__proto__: b\r\n\r\n");
    expect(Object.entries(heard.head?.headers ?? {})).toEqual([
      ["constructor", "a"],
      ["__proto__", "b"],
    ]);
  });

  it("says how long the server keeps it, and joins headers that come twice", () => {
    const { parser, heard } = parsed("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=9\r\nWarning: a\r\nwarning:b \r\ncontent-length: 0\r\n\r\n");
    expect(parser.keepAliveMs).toBe(5000);
    expect(heard.head?.headers["warning"]).toBe("a, b");
  });

  it.each([
    ["another protocol", "SSH-2.0-OpenSSH\r\n\r\n", /no HTTP/],
    ["HTTP/2", "HTTP/2 200\r\n\r\n", /no HTTP/],
    ["a switch of protocols", "HTTP/1.1 101 Switching\r\n\r\n", /another protocol/],
    ["a length and chunks", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", /both a length/],
    ["the same length twice", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok", /two lengths/],
    ["an interim answer with a length", "HTTP/1.1 103 X\r\ncontent-length: 2\r\n\r\nok", /says where it ends/],
    ["a trailer that is none", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nHTTP/1.1 200 OK\r\n\r\n", /no proper name/],
    ["endless trailers", `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${"a: b\r\n".repeat(100_000)}`, /longer than 262144 bytes/],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok", /two lengths/],
    ["a length that is no number", "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nok", /length is no number/],
    ["a folded header", "HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n", /no proper name/],
    ["a space before the colon", "HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nok", /no proper name/],
    ["gzip on the way", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n", /other than chunked/],
    ["a tab behind the coding", "HTTP/1.1 500 X\r\ntransfer-encoding: chunked\t\r\n\r\n2\r\nok\r\n0\r\n\r\n", /with a tab/],
    ["a chunk that is longer than it says", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nokay\r\n", /longer than it says/],
    ["a chunk size that is no number", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-2\r\nok\r\n", /no number/],
    ["endless interim answers", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".repeat(10_000), /longer than 262144 bytes/],
    [
      "more between the chunks than in them",
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${`1;note=${"x".repeat(1_000)}\r\nk\r\n`.repeat(300)}`,
      /longer than 262144 bytes/,
    ],
    ["endless headers", `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(50_000)}`, /longer than 262144 bytes: ask for less or raise maxHeadBytes/],
  ])("is given up on %s", (_, wire, message) => {
    expect(() => parsed(wire)).toThrow(message);
  });

  it("may have chunks of one byte each, however many: what comes in one piece is handed on in one", () => {
    const { heard } = parsed(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"1\r\nk\r\n".repeat(200_000)}0\r\n\r\n`);
    expect(heard.body.map((piece) => piece.length)).toEqual([200_000]);
    expect(heard.text).toBe("k".repeat(200_000));
  });

  it("is given up when the server speaks unasked", () => {
    expect(() => new ResponseParser().take(bytes("HTTP/1.1 408 Request Timeout\r\n\r\n"))).toThrow(/nobody asked/);
  });
});
