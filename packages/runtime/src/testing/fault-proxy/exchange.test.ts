// Relaying to a client that reads slowly: every byte arrives, and nothing is left hanging on the response.
import type { ServerResponse } from "node:http";
import { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it, test } from "vitest";
import { Exchange, matches, requestLine } from "./exchange.ts";

/** A response whose client takes a byte at a time. */
function slowResponse({ socket }: { readonly socket: Socket | undefined } = { socket: new Socket() }) {
  const stream = new PassThrough({ highWaterMark: 1 });
  // All of a response that an exchange touches.
  const response = Object.assign(stream, { writeHead: () => stream, flushHeaders: () => {} }) as unknown as ServerResponse;
  return { stream, exchange: new Exchange(requestLine("GET", "/"), response, socket) };
}

async function* pieces(count: number, onPiece: () => void = () => {}): AsyncGenerator<Buffer> {
  for (let piece = 0; piece < count; piece++) {
    onPiece();
    yield Buffer.from("piece ");
  }
}

test.each(["reset", "close"] as const)("an exchange whose client has gone before it began can be cut all the same: %s", (manner) => {
  const { stream, exchange } = slowResponse({ socket: undefined });
  exchange.cut(manner);
  expect(stream.destroyed).toBe(true);
});

test("a client that makes the proxy wait many times gets everything, without a listener left for each wait", async () => {
  const { stream, exchange } = slowResponse();
  const listeners: number[] = [];
  const read = text(stream);
  await exchange.relay({ status: 200, headers: {}, body: pieces(50, () => listeners.push(stream.listenerCount("close"))) });
  expect(await read).toBe("piece ".repeat(50));
  expect(listeners.at(-1)).toBe(listeners[0]);
});

test("a client that goes away while the proxy waits ends the relay", async () => {
  const { stream, exchange } = slowResponse();
  const relayed = exchange.relay({ status: 200, headers: {}, body: pieces(50) });
  stream.destroy();
  await expect(relayed).rejects.toThrow("aborted");
  expect(exchange.signal.aborted).toBe(true);
});

// Which requests a fault is about.

const watch = requestLine("GET", "/api/v1/pods?watch=true&resourceVersion=5");
const list = requestLine("GET", "/api/v1/pods?limit=500");
const create = requestLine("POST", "/api/v1/namespaces/a/pods");

describe("requestLine", () => {
  it("distinguishes watches, other reads and writes", () => {
    const kinds = [watch, list, create].map(({ isWatch, isWrite }) => ({ isWatch, isWrite }));
    expect(kinds).toEqual([
      { isWatch: true, isWrite: false },
      { isWatch: false, isWrite: false },
      { isWatch: false, isWrite: true },
    ]);
    expect(requestLine("GET", "/x?watch=1").isWatch).toBe(true);
    expect(requestLine("GET", "/x?watch=false").isWatch).toBe(false);
  });
});

describe("matches", () => {
  it("selects everything without conditions", () => {
    expect([watch, list, create].every((request) => matches({}, request))).toBe(true);
  });

  it("needs every condition to hold", () => {
    expect(matches({ method: "GET", path: /limit=/, watch: false, write: false }, list)).toBe(true);
    expect(matches({ method: "GET", path: /limit=/ }, watch)).toBe(false);
    expect(matches({ method: ["PUT", "POST"] }, create)).toBe(true);
    expect(matches({ method: ["PUT", "PATCH"] }, create)).toBe(false);
    expect(matches({ watch: true }, list)).toBe(false);
    expect(matches({ write: true }, create)).toBe(true);
  });
});
