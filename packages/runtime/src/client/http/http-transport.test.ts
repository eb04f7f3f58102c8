// Sockets, failures and log-ins, against real servers on this machine.
import { createHash, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { type Credentials, fixedCredentials } from "../auth/credentials.ts";
import { type LocalServer, patiently, startLocalServer, textOf } from "../local-server.fixture.ts";
import { ConnectionError, type Transport } from "../transport.ts";
import { createHttpTransport, type Environment, type HttpTransportOptions, proxyFor } from "./http-transport.ts";

function transportTo(server: Pick<LocalServer, "url">, options: Partial<HttpTransportOptions> = {}): Transport & Disposable {
  const transport = createHttpTransport({ server: server.url, credentials: fixedCredentials(), ...options });
  return { send: transport.send.bind(transport), close: transport.close.bind(transport), [Symbol.dispose]: () => transport.close() };
}

const get = { method: "GET", path: "/x" } as const;

describe("the server's address", () => {
  it("may have a path, whose last slashes do not count", async () => {
    await using server = await startLocalServer((request, response) => response.end(request.url));
    using transport = transportTo({ url: `${server.url}/clusters/a//` });
    expect(await textOf(await transport.send(get))).toBe("/clusters/a/x");
  });

  it("may be as odd as whoever writes a kubeconfig likes", () => {
    using transport = transportTo({ url: `https://cluster.example.com${"/".repeat(1_000_000)}x` });
    expect(transport).toBeDefined();
  });
});

describe("sockets", () => {
  it("uses one connection for a hundred requests, one after the other", async () => {
    await using server = await startLocalServer((_, response) => response.end("ok"));
    using transport = transportTo(server);
    for (let index = 0; index < 100; index++) expect(await textOf(await transport.send(get))).toBe("ok");
    expect(server.connections).toBe(1);
  });

  it("opens as many as there are requests at once, up to 64, and keeps them", async () => {
    const waiting: ServerResponse[] = [];
    await using server = await startLocalServer((_, response) => void waiting.push(response));
    using transport = transportTo(server);
    const requests = Array.from({ length: 100 }, () => transport.send(get).then(textOf));
    await expect.poll(() => waiting.length, patiently).toBe(64);
    for (let answered = 0; answered < 100; answered++) {
      await expect.poll(() => waiting.length, patiently).toBeGreaterThan(answered);
      waiting[answered]?.end("ok");
    }
    await Promise.all(requests);
    expect(server.connections).toBe(64);
  });

  it("never shares a socket between lanes, and gives each watch its own", async () => {
    await using server = await startLocalServer((request, response) => {
      if (request.url === "/watch") response.write("begin");
      else response.end("ok");
    });
    using transport = transportTo(server);
    const watches = [];
    for (let index = 0; index < 3; index++) watches.push(await transport.send({ method: "GET", path: "/watch", lane: "watch" }));
    for (let round = 0; round < 5; round++) {
      await textOf(await transport.send(get));
      await textOf(await transport.send({ ...get, lane: "lease" }));
    }
    expect(watches.map(({ status }) => status)).toEqual([200, 200, 200]);
    const byPath = (url: string): number[] => [...new Set(server.seen.filter((request) => request.url === url).map(({ connection }) => connection))];
    expect(byPath("/watch")).toHaveLength(3);
    expect(byPath("/x")).toHaveLength(2);
  });

  it("sends a GET again on a new connection when the server closed a kept-alive one, but no write", async () => {
    const closeOnReuse = new Set<number>();
    await using server = await startLocalServer((request, response) => {
      const { connection } = server.seen.at(-1) ?? { connection: 0 };
      if (closeOnReuse.has(connection)) request.socket.destroy();
      else response.end("ok");
      closeOnReuse.add(connection);
    });
    using transport = transportTo(server);
    await textOf(await transport.send(get));
    expect(await textOf(await transport.send(get))).toBe("ok");
    expect(server.seen.map(({ connection }) => connection)).toEqual([1, 1, 2]);
    await expect(transport.send({ method: "POST", path: "/x", body: "{}" })).rejects.toBeInstanceOf(ConnectionError);
    expect(server.seen).toHaveLength(4);
  });

  it("does not try again when a new connection is reset", async () => {
    await using server = await startLocalServer((request) => request.socket.destroy());
    using transport = transportTo(server);
    await expect(transport.send(get)).rejects.toThrow(/^GET \/x at http:\/\/127\.0\.0\.1:\d+: the server closed the connection$/);
    expect(server.seen).toHaveLength(1);
  });

  it("says where nobody listens", async () => {
    const server = await startLocalServer(() => undefined);
    await server[Symbol.asyncDispose]();
    using transport = transportTo(server);
    const failure = transport.send({ ...get, path: "/x?token=hidden" });
    await expect(failure).rejects.toMatchObject({ code: "Connection", message: expect.stringMatching(/^GET \/x at .*ECONNREFUSED/) });
  });

  it("ends everything on close, also what waits for a socket, and sends nothing after", async () => {
    await using server = await startLocalServer((request, response) => {
      if (request.url === "/watch") response.write("begin");
    });
    const transport = transportTo(server);
    const response = await transport.send({ method: "GET", path: "/watch", lane: "watch" });
    const silent = Array.from({ length: 70 }, () => transport.send(get));
    const failures = Promise.allSettled(silent);
    await expect.poll(() => server.seen.length, patiently).toBe(65);
    transport.close();
    for (const failure of await failures) expect(failure).toMatchObject({ status: "rejected", reason: { code: "Connection" } });
    await expect(textOf(response)).rejects.toBeInstanceOf(ConnectionError);
    await expect.poll(() => server.open, patiently).toBe(0);
    await expect(transport.send(get)).rejects.toThrow(/is closed/);
  });
});

describe("requests", () => {
  it("puts the server's own path in front, and sends headers and bodies as given", async () => {
    await using server = await startLocalServer((request, response) => void request.pipe(response));
    using transport = createDisposable(`${server.url}/k8s/clusters/c-1/`);
    const response = await transport.send({ method: "POST", path: "/api?x=1", body: "häh", headers: { "content-type": "text/plain" } });
    expect(await textOf(response)).toBe("häh");
    expect(server.seen[0]).toMatchObject({
      url: "/k8s/clusters/c-1/api?x=1",
      headers: { "content-type": "text/plain", "content-length": "4", "user-agent": "keyturn", accept: "application/json" },
    });
    expect(server.seen[0]?.headers["accept-encoding"]).toBeUndefined();
  });

  it("gives up when no headers come in time, and lets the body of a watch take as long as it likes", async () => {
    await using server = await startLocalServer((request, response) => {
      if (request.url === "/slow-body") response.write("begin");
    });
    const clock = new VirtualClock();
    using transport = transportTo(server, { clock });
    const silent = transport.send({ ...get, timeoutMs: 5_000 }).catch(String);
    const slow = await transport.send({ method: "GET", path: "/slow-body", lane: "watch" });
    await expect.poll(() => server.seen.length, patiently).toBe(2);
    await clock.advance(60_000);
    expect(await silent).toMatch(/^ConnectionError: GET \/x at .*: no answer within 5000 ms$/);
    const iterator = slow.body[Symbol.asyncIterator]();
    expect(Buffer.from((await iterator.next()).value ?? []).toString()).toBe("begin");
    await iterator.return?.();
  });

  it("gives up a read whose answer stands still, however long it has gone on", async () => {
    const answers: ServerResponse[] = [];
    await using server = await startLocalServer((_request, response) => {
      response.write("begin");
      answers.push(response);
    });
    const clock = new VirtualClock();
    using transport = transportTo(server, { clock });
    const { body } = await transport.send({ ...get, timeoutMs: 5_000 });
    const pieces = body[Symbol.asyncIterator]();
    const next = async (): Promise<string> => Buffer.from((await pieces.next()).value ?? []).toString();
    expect(await next()).toBe("begin");
    for (let piece = 0; piece < 3; piece++) {
      await clock.advance(4_000);
      answers[0]?.write("more");
      expect(await next()).toBe("more");
    }
    const end = next().catch(String);
    await clock.advance(5_000);
    expect(await end).toMatch(/^ConnectionError: GET \/x at .*: the response stood still for 5000 ms$/);
    await expect.poll(() => server.open, patiently).toBe(0);
  });

  it("does not give up a read whose answer nobody takes", async () => {
    await using server = await startLocalServer((_request, response) => void response.end("x".repeat(8_000_000)));
    const clock = new VirtualClock();
    let readBytes = 0;
    using transport = transportTo(server, { clock, onRead: (bytes) => void (readBytes += bytes) });
    const response = await transport.send({ ...get, timeoutMs: 5_000 });
    // Of what is taken in ahead, all is there.
    await expect.poll(() => readBytes, patiently).toBeGreaterThan(257 * 1024);
    await clock.advance(60_000);
    expect((await textOf(response)).length).toBe(8_000_000);
  });

  it("gives up a write whose answer begins and does not end in time", async () => {
    await using server = await startLocalServer((_request, response) => void response.write("begin"));
    const clock = new VirtualClock();
    using transport = transportTo(server, { clock });
    const answer = await transport.send({ method: "POST", path: "/x", body: "{}", timeoutMs: 5_000 });
    const text = textOf(answer).catch(String);
    await clock.advance(5_000);
    expect(await text).toMatch(/^ConnectionError: POST \/x at .*: the response was not whole within 5000 ms$/);
    await expect.poll(() => server.open, patiently).toBe(0);
  });

  it("rejects with the signal's reason: before sending, while waiting, and in the body", async () => {
    await using server = await startLocalServer((request, response) => {
      if (request.url === "/body") response.write("begin");
    });
    using transport = transportTo(server);
    await expect(transport.send(get, AbortSignal.abort("early"))).rejects.toBe("early");
    expect(server.seen).toHaveLength(0);
    const waiting = new AbortController();
    const silent = transport.send(get, waiting.signal);
    await expect.poll(() => server.seen.length, patiently).toBe(1);
    waiting.abort("while waiting");
    await expect(silent).rejects.toBe("while waiting");
    const reading = new AbortController();
    const body = (await transport.send({ method: "GET", path: "/body" }, reading.signal)).body[Symbol.asyncIterator]();
    await body.next();
    const next = body.next();
    reading.abort("in the body");
    await expect(next).rejects.toBe("in the body");
    await expect.poll(() => server.open, patiently).toBe(0);
  });
});

describe("bodies", () => {
  it("hands chunks on as they come", async () => {
    let stream: ServerResponse | undefined;
    await using server = await startLocalServer((_, response) => (stream = response).flushHeaders());
    using transport = transportTo(server);
    const body = (await transport.send(get)).body[Symbol.asyncIterator]();
    for (const text of ["one", "two", "three"]) {
      stream?.write(text);
      expect(Buffer.from((await body.next()).value ?? []).toString()).toBe(text);
    }
    stream?.end();
    expect((await body.next()).done).toBe(true);
  });

  it("brings a long body whole to a slow reader", async () => {
    const content = randomBytes(8 * 1024 * 1024);
    await using server = await startLocalServer((_, response) => response.end(content));
    using transport = transportTo(server);
    const hash = createHash("sha256");
    for await (const chunk of (await transport.send(get)).body) {
      hash.update(chunk);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(hash.digest("hex")).toBe(createHash("sha256").update(content).digest("hex"));
  });

  it.each([
    ["chunked", {}],
    ["of a given length", { "content-length": "100" }],
  ])("ends a body %s that breaks off with an error, after what arrived", async (_, headers) => {
    await using server = await startLocalServer((request, response) => {
      response.writeHead(200, headers);
      response.write("half", () => request.socket.destroy());
    });
    using transport = transportTo(server);
    const arrived: string[] = [];
    const read = async (): Promise<void> => {
      for await (const chunk of (await transport.send(get)).body) arrived.push(Buffer.from(chunk).toString());
    };
    await expect(read()).rejects.toThrow(/^GET \/x at .*: the response broke off: the server closed the connection$/);
    expect(arrived).toEqual(["half"]);
  });

  it("closes the connection of a body that is left early", async () => {
    await using server = await startLocalServer((_, response) => void response.write("begin"));
    using transport = transportTo(server);
    for await (const chunk of (await transport.send(get)).body) {
      expect(chunk.byteLength).toBe(5);
      break;
    }
    await expect.poll(() => server.open, patiently).toBe(0);
  });
});

/** Credentials whose token is `t<n>`; each refresh makes the next one. */
function countingCredentials(): Credentials & { readonly refreshes: number } {
  let refreshes = 0;
  return {
    authorize: () => Promise.resolve({ headers: { authorization: `Bearer t${refreshes}` }, tls: {} }),
    refresh: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      refreshes++;
      return true;
    },
    get refreshes() {
      return refreshes;
    },
  };
}

describe("401", () => {
  const acceptOnly = (token: string) =>
    startLocalServer((request, response) => {
      response.statusCode = request.headers.authorization === `Bearer ${token}` ? 200 : 401;
      request.resume().on("end", () => response.end("answer"));
    });

  it("of a hundred requests at once leads to one refresh, and all succeed", async () => {
    await using server = await acceptOnly("t1");
    const credentials = countingCredentials();
    using transport = transportTo(server, { credentials });
    const statuses = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const response = await transport.send({ method: "POST", path: "/x", body: "{}" });
        expect(await textOf(response)).toBe("answer");
        return response.status;
      }),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(credentials.refreshes).toBe(1);
  });

  it("goes to the caller when a refresh did not help, and does not refresh again for a while", async () => {
    await using server = await acceptOnly("never");
    const clock = new VirtualClock();
    const credentials = countingCredentials();
    using transport = transportTo(server, { credentials, clock });
    for (let round = 0; round < 5; round++) {
      const response = await transport.send(get);
      expect([response.status, await textOf(response)]).toEqual([401, "answer"]);
    }
    expect(credentials.refreshes).toBe(1);
    expect(server.seen).toHaveLength(6);
    await clock.advance(10_000);
    await textOf(await transport.send(get));
    expect(credentials.refreshes).toBe(2);
  });

  it("is returned as it is when there is nothing to refresh", async () => {
    await using server = await acceptOnly("never");
    using transport = transportTo(server, { credentials: fixedCredentials({ headers: { authorization: "Bearer secret" } }) });
    expect((await transport.send(get)).status).toBe(401);
    expect(server.seen).toHaveLength(1);
  });

  it("and a refresh that fails is an error that says so", async () => {
    await using server = await acceptOnly("never");
    const credentials = { ...fixedCredentials(), refresh: () => Promise.reject(new Error("the plugin is broken")) };
    using transport = transportTo(server, { credentials });
    await expect(transport.send(get)).rejects.toThrow(/^no credentials for http:.*: the plugin is broken$/);
    expect(await textOf(await transport.send(get))).toBe("answer");
    expect(server.connections).toBe(1);
  });

  it("waits for credentials no longer than the caller does", async () => {
    await using server = await acceptOnly("never");
    using transport = transportTo(server, { credentials: { ...fixedCredentials(), authorize: () => new Promise(() => undefined) } });
    const caller = new AbortController();
    const waiting = transport.send(get, caller.signal);
    caller.abort("enough");
    await expect(waiting).rejects.toBe("enough");
  });
});

it("refuses addresses that it cannot use", () => {
  const open = (options: Partial<HttpTransportOptions>) => () =>
    createHttpTransport({ server: "https://x", credentials: fixedCredentials(), ...options });
  expect(open({ server: "ftp://hidden@x" })).toThrow(
    expect.objectContaining({ code: "Unusable", message: "the API server's address ftp://x is no http or https URL" }),
  );
  expect(open({ server: "https://hid den" })).toThrow("the API server's address is no http or https URL");
  expect(open({ proxyUrl: "socks5://user:hidden@proxy:1080" })).toThrow(
    "a proxy with socks5:// is not supported: use an http:// or https:// proxy that allows CONNECT",
  );
  expect(open({ proxyUrl: "not a url" })).toThrow(expect.objectContaining({ code: "Unsupported" }));
});

function createDisposable(url: string): Transport & Disposable {
  return transportTo({ url });
}

// Which servers are reached through a proxy.

const through = (server: string, env: Environment): string | undefined => proxyFor(new URL(server), env);
const proxy = "http://proxy:3128";

describe("proxyFor", () => {
  it("goes by the server's scheme, in either case of the names", () => {
    expect(through("https://api", { HTTPS_PROXY: proxy, HTTP_PROXY: "http://other" })).toBe(proxy);
    expect(through("http://api", { HTTPS_PROXY: "http://other", http_proxy: "proxy:3128" })).toBe(proxy);
    expect(through("https://api", { HTTP_PROXY: proxy })).toBeUndefined();
    expect(through("https://api", {})).toBeUndefined();
  });

  it("never proxies this machine", () => {
    for (const host of ["localhost", "127.0.0.1", "127.8.9.10", "[::1]"])
      expect(through(`https://${host}:6443`, { HTTPS_PROXY: proxy })).toBeUndefined();
  });

  it.each([
    ["https://10.96.0.1", "10.0.0.0/8", true],
    ["https://10.96.0.1", "192.168.0.0/16, 10.96.0.1", true],
    ["https://11.96.0.1", "10.0.0.0/8", false],
    ["https://10.96.0.1", "10.0.0.0/99", false],
    ["https://[fd00::1]", "fd00::/8", true],
    ["https://[fd00::1]", "fd00::1", true],
    ["https://[fd00::1]:443", "[fd00::1]:443", true],
    ["https://api.example.org", "example.org", true],
    ["https://example.org", "example.org", true],
    ["https://badexample.org", "example.org", false],
    ["https://example.org", ".example.org", false],
    ["https://api.EXAMPLE.org", "*.Example.org", true],
    ["https://api.example.org:6443", "api.example.org:6443", true],
    ["https://api.example.org:6443", "api.example.org:443", false],
    ["https://api.example.org", "*", true],
    ["https://api.example.org", ",,", false],
  ])("%s with NO_PROXY=%s: bypassed is %s", (server, noProxy, bypassed) => {
    expect(through(server, { HTTPS_PROXY: proxy, NO_PROXY: noProxy }) === undefined).toBe(bypassed);
    expect(through(server, { HTTPS_PROXY: proxy, no_proxy: noProxy }) === undefined).toBe(bypassed);
  });
});
