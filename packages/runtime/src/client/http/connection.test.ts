// Connections to servers that do what servers should not, byte by byte.
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { fixedCredentials } from "../auth/credentials.ts";
import { patiently, textOf } from "../local-server.fixture.ts";
import { ConnectionError, type Transport, type TransportRequest } from "../transport.ts";
import { requestText } from "./connection.ts";
import { createHttpTransport } from "./http-transport.ts";

interface RawServer extends AsyncDisposable {
  readonly port: number;
  readonly transport: Transport;
  readonly connections: readonly Socket[];
}

/** A server that answers the n-th request of a connection with the n-th text and then leaves the connection as it is. */
async function serve(...answers: readonly string[]): Promise<RawServer> {
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket);
    let requests = 0;
    socket.on("data", () => socket.write(answers[requests++] ?? ""));
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const transport = createHttpTransport({ server: `http://127.0.0.1:${port}`, credentials: fixedCredentials() });
  const close = async (): Promise<void> => {
    transport.close();
    for (const socket of connections) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port, transport, connections, [Symbol.asyncDispose]: close };
}

const get: TransportRequest = { method: "GET", path: "/x" };
const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

describe("a connection", () => {
  it("is used again, past an interim answer", async () => {
    await using server = await serve(`HTTP/1.1 103 Early Hints\r\n\r\n${ok}`, ok);
    expect(await textOf(await server.transport.send(get))).toBe("ok");
    expect(await textOf(await server.transport.send(get))).toBe("ok");
    expect(server.connections).toHaveLength(1);
  });

  it.each([
    ["that the server is about to close", ok.replace("\r\n\r\n", "\r\nkeep-alive: timeout=1\r\n\r\n")],
    ["that the server says it closes", ok.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n")],
    ["on which more came than was asked for", `${ok}${ok}`],
  ])("%s is not used again", async (_, answer) => {
    await using server = await serve(answer, ok);
    expect(await textOf(await server.transport.send(get))).toBe("ok");
    expect(await textOf(await server.transport.send(get))).toBe("ok");
    expect(server.connections).toHaveLength(2);
  });

  it("on which a head comes that is too long is closed, with a typed error that says which limit", async () => {
    await using server = await serve(`HTTP/1.1 200 OK\r\na: ${"x".repeat(2_000)}\r\n\r\n`);
    const transport = createHttpTransport({ server: `http://127.0.0.1:${server.port}`, credentials: fixedCredentials(), maxHeadBytes: 1_000 });
    await expect(transport.send(get)).rejects.toMatchObject({ code: "AnswerTooLong", part: "head", maxBytes: 1_000 });
    await expect.poll(() => server.connections.every(({ destroyed }) => destroyed), patiently).toBe(true);
    transport.close();
  });

  it("counts all that is read, and is given up when that is too much, with what was said of it", async () => {
    const interim = "HTTP/1.1 103 Early Hints\r\n\r\n";
    const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;note=x\r\nk\r\n0\r\n\r\n";
    await using server = await serve(`${interim}${chunked}`, chunked);
    let left = interim.length + 2 * chunked.length - 1;
    const onRead = (bytes: number): void => {
      left -= bytes;
      if (left < 0) throw new ConnectionError("too much");
    };
    const transport = createHttpTransport({ server: `http://127.0.0.1:${server.port}`, credentials: fixedCredentials(), onRead });
    expect(await textOf(await transport.send(get))).toBe("k");
    expect(left).toBe(chunked.length - 1);
    await expect(transport.send(get)).rejects.toThrow("too much");
    await expect.poll(() => server.connections.every(({ destroyed }) => destroyed), patiently).toBe(true);
    transport.close();
  });

  it("on which something comes unasked is closed", async () => {
    await using server = await serve(ok);
    expect(await textOf(await server.transport.send(get))).toBe("ok");
    server.connections[0]?.write(ok);
    await expect.poll(() => server.connections[0]?.destroyed, patiently).toBe(true);
    expect(await textOf(await server.transport.send(get))).toBe("ok");
  });

  it("that is answered before its request was sent whole is closed, and the answer counts", async () => {
    await using server = await serve("HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n");
    const body = "x".repeat(64 * 1024 * 1024);
    expect(await server.transport.send({ method: "POST", path: "/x", body })).toMatchObject({ status: 413 });
    await expect.poll(() => server.connections[0]?.destroyed, patiently).toBe(true);
  });

  it("on which no HTTP is spoken is closed, with an error that does not show what came", async () => {
    await using server = await serve("SSH-2.0-secret\r\n\r\n");
    await expect(server.transport.send(get)).rejects.toThrow(/^GET \/x at http:\/\/127\.0\.0\.1:\d+: the answer is no HTTP\/1\.1$/);
    await expect.poll(() => server.connections[0]?.destroyed, patiently).toBe(true);
  });
});

describe("a proxy", () => {
  it.each([
    ["refuses", "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", /the proxy 127\.0\.0\.1:\d+ answered 407 to CONNECT$/],
    ["makes no sense", "hello\r\n\r\n", /the proxy 127\.0\.0\.1:\d+ gave no proper answer to CONNECT$/],
  ])("that %s is named", async (_, answer, message) => {
    await using proxy = await serve(answer);
    const proxyUrl = `http://me:secret@127.0.0.1:${proxy.port}`;
    const transport = createHttpTransport({ server: "https://api.test", credentials: fixedCredentials(), proxyUrl });
    await expect(transport.send(get)).rejects.toThrow(message);
    transport.close();
  });
});

describe("when a server was away, and answers a watch again", () => {
  const watch: TransportRequest = { ...get, lane: "watch" };

  it("the next call finds a connection that is there already", async () => {
    await using server = await serve(...Array.from({ length: 1000 }, () => ok));
    const { transport, connections } = server;
    expect(await textOf(await transport.send(get))).toBe("ok");
    connections[0]?.destroy();
    await expect.poll(async () => (await textOf(await transport.send(watch))) && connections.length, patiently).toBe(3);
    expect(await textOf(await transport.send(get))).toBe("ok");
    expect(connections).toHaveLength(3);
  });

  it("a connection that we closed ourselves is not opened again", async () => {
    await using server = await serve(ok.replace("ok", "o"));
    for (const request of [get, watch, watch, watch]) {
      const { body } = await server.transport.send(request);
      // Leaving before its end closes the connection.
      for await (const chunk of body) if (chunk.byteLength > 0) break;
    }
    expect(server.connections).toHaveLength(4);
  });
});

// What is written for a request, and what is refused because it would be read as something else.

const parts = { method: "GET", path: "/x?a=%20", host: "api.test:6443", headers: {}, body: undefined } as const;

describe("a request", () => {
  it("has a head, and its body's length in bytes", () => {
    const headers = { accept: "application/json", "Impersonate-Group": ["a", "b"] };
    expect(requestText({ ...parts, method: "POST", headers, body: "häh" })).toBe(
      "POST /x?a=%20 HTTP/1.1\r\nhost: api.test:6443\r\naccept: application/json\r\nImpersonate-Group: a\r\nImpersonate-Group: b\r\ncontent-length: 4\r\n\r\nhäh",
    );
    expect(requestText(parts)).toBe("GET /x?a=%20 HTTP/1.1\r\nhost: api.test:6443\r\n\r\n");
  });

  it.each(["/x y", "/x\r\nevil: 1", "/ä", "/\0"])("refuses the path %j", (path) => {
    expect(() => requestText({ ...parts, path })).toThrow(TypeError);
  });

  it.each([{ authorization: "Bearer secret\r\nevil: 1" }, { authorization: "secret\0" }, { authorization: "sécret" }])(
    "refuses the headers %j without showing them",
    (headers) => {
      expect(() => requestText({ ...parts, headers })).toThrow(/^the header authorization has characters that a request cannot carry$/);
    },
  );

  it.each([{ "a b": "1" }, { "": "1" }, { "a\r\n": "1" }])("refuses the header names of %j", (headers) => {
    expect(() => requestText({ ...parts, headers })).toThrow(TypeError);
  });
});
