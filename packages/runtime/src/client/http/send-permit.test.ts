// Writes that wait, for credentials, a socket, a handshake or the network, while the right to make them ends.
import type { ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { createAuthority, issueCertificate } from "../../x509.ts";
import { fixedCredentials } from "../auth/credentials.ts";
import { type LocalServer, patiently, startLocalServer, textOf } from "../local-server.fixture.ts";
import type { SendPermit, Transport, TransportRequest } from "../transport.ts";
import { createHttpTransport, type HttpTransportOptions } from "./http-transport.ts";

function transportTo(server: Pick<LocalServer, "url">, options: Partial<HttpTransportOptions> = {}): Transport & Disposable {
  const transport = createHttpTransport({ server: server.url, credentials: fixedCredentials(), ...options });
  return { send: transport.send.bind(transport), close: transport.close.bind(transport), [Symbol.dispose]: () => transport.close() };
}

/** A right that ends by the clock first, and by its signal when somebody looks; as a lease does. */
class Right implements SendPermit {
  readonly #end = new AbortController();
  readonly signal = this.#end.signal;
  #valid = true;

  check(): void {
    if (!this.#valid) throw new Error("the right has ended");
  }

  runOut(): void {
    this.#valid = false;
  }

  tell(): void {
    this.#end.abort(new Error("it was told"));
  }
}

const ways = ["run out by the clock alone", "told by the signal"] as const;

function end(right: Right, way: (typeof ways)[number]): void {
  if (way === "told by the signal") right.tell();
  else right.runOut();
}

const write = (permit: SendPermit, path: string): TransportRequest => ({ method: "POST", path, body: "{}", permit });
const outcomes = (results: readonly PromiseSettledResult<unknown>[]): readonly unknown[] =>
  results.map((result) => (result.status === "rejected" && result.reason instanceof Error ? result.reason.message : "answered"));

describe.each(ways)("what is not sent when the right has ended (%s) is never sent", (way) => {
  const said = way === "told by the signal" ? "it was told" : "the right has ended";

  it("while it waits for a socket", async () => {
    const answers: ServerResponse[] = [];
    await using server = await startLocalServer((_, response) => void answers.push(response));
    using transport = transportTo(server);
    const right = new Right();
    const stalled = Array.from({ length: 64 }, () => transport.send({ method: "POST", path: "/stalled", body: "{}" }).then(textOf));
    await expect.poll(() => answers.length, patiently).toBe(64);
    const waiting = Array.from({ length: 100 }, () => transport.send(write(right, "/late")));
    const settled = Promise.allSettled(waiting);
    end(right, way);
    for (const answer of answers) answer.end("ok");
    await Promise.all(stalled);
    expect(new Set(outcomes(await settled))).toEqual(new Set([said]));
    const next = transport.send(write(new Right(), "/next"));
    await expect.poll(() => server.seen.at(-1)?.url, patiently).toBe("/next");
    answers.at(-1)?.end("ok");
    expect((await next).status).toBe(200);
    expect(server.seen.filter(({ url }) => url === "/late")).toEqual([]);
    // What was refused cost no connection.
    expect(server.connections).toBe(64);
  });

  it("while it waits for credentials", async () => {
    await using server = await startLocalServer((_, response) => response.end("ok"));
    const issued = Promise.withResolvers<{ headers: Record<string, string>; tls: object }>();
    using transport = transportTo(server, { credentials: { authorize: () => issued.promise, refresh: () => Promise.resolve(false) } });
    const right = new Right();
    const settled = Promise.allSettled(Array.from({ length: 100 }, () => transport.send(write(right, "/late"))));
    end(right, way);
    // Who is told does not wait for what others may wait for.
    if (way === "told by the signal") await settled;
    issued.resolve({ headers: {}, tls: {} });
    expect(new Set(outcomes(await settled))).toEqual(new Set([said]));
    expect((await transport.send(write(new Right(), "/next"))).status).toBe(200);
    expect(server.seen.map(({ url }) => url)).toEqual(["/next"]);
  });

  it("while credentials are renewed after a 401", async () => {
    await using server = await startLocalServer((_, response) => response.writeHead(401).end());
    const renewed = Promise.withResolvers<boolean>();
    const asked = Promise.withResolvers<void>();
    const refresh = (): Promise<boolean> => (asked.resolve(), renewed.promise);
    using transport = transportTo(server, { credentials: { ...fixedCredentials(), refresh } });
    const right = new Right();
    const settled = Promise.allSettled([transport.send(write(right, "/late"))]);
    await asked.promise;
    end(right, way);
    renewed.resolve(true);
    expect(outcomes(await settled)).toEqual([said]);
    expect(server.seen).toHaveLength(1);
  });

  it("while TLS is being agreed on", async () => {
    const authority = createAuthority("test authority");
    const keys = issueCertificate(authority, { usage: "server", commonName: "api", hosts: ["127.0.0.1"] });
    await using server = await startLocalServer((_, response) => response.end("ok"), keys);
    const open = Promise.withResolvers<void>();
    await using gate = await startGate(server.port, open.promise);
    const credentials = fixedCredentials({ tls: { ca: authority.certificate } });
    using transport = transportTo({ url: `https://127.0.0.1:${gate.port}` }, { credentials });
    const right = new Right();
    const settled = Promise.allSettled([transport.send(write(right, "/late"))]);
    await expect.poll(() => gate.connections, patiently).toBe(1);
    end(right, way);
    open.resolve();
    expect(outcomes(await settled)).toEqual([said]);
    expect((await transport.send(write(new Right(), "/next"))).status).toBe(200);
    expect(server.seen.map(({ url }) => url)).toEqual(["/next"]);
  });
});

it("a write that is stuck half way when the right ends never becomes whole", async () => {
  const read = Promise.withResolvers<void>();
  let received = 0;
  const ended = Promise.withResolvers<string>();
  const server = createServer((socket) => {
    socket.pause();
    socket.on("data", (bytes) => void (received += bytes.length));
    socket.on("error", (error: NodeJS.ErrnoException) => ended.resolve(error.code ?? ""));
    socket.on("end", () => ended.resolve("end"));
    void read.promise.then(() => socket.resume());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  using transport = transportTo({ url: `http://127.0.0.1:${port}` });
  const right = new Right();
  // More than the kernels of both sides take.
  const body = "x".repeat(64 * 1024 * 1024);
  const settled = Promise.allSettled([transport.send({ ...write(right, "/late"), body })]);
  const connections = (): Promise<number> =>
    new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))));
  await expect.poll(connections, patiently).toBe(1);
  right.tell();
  expect(outcomes(await settled)).toEqual(["it was told"]);
  read.resolve();
  // A reset: a close in order would have sent the rest first.
  expect(await ended.promise).toBe("ECONNRESET");
  expect(received).toBeLessThan(body.length);
  await new Promise((resolve) => server.close(resolve));
});

it("a write that was sent and not answered is broken off when its right ends, and its socket is not used again", async () => {
  await using server = await startLocalServer((request, response) => {
    if (request.url === "/next") response.end("ok");
  });
  using transport = transportTo(server);
  const right = new Right();
  const settled = Promise.allSettled([transport.send(write(right, "/sent"))]);
  await expect.poll(() => server.seen.length, patiently).toBe(1);
  right.tell();
  expect(outcomes(await settled)).toEqual(["it was told"]);
  await expect.poll(() => server.open, patiently).toBe(0);
  expect((await transport.send(write(new Right(), "/next"))).status).toBe(200);
});

it("an answer that has come counts, whatever becomes of the right", async () => {
  await using server = await startLocalServer((_, response) => response.end("ok"));
  using transport = transportTo(server);
  const right = new Right();
  const response = await transport.send(write(right, "/sent"));
  const text = textOf(response);
  right.runOut();
  expect(await text).toBe("ok");
  right.tell();
  expect(response.status).toBe(200);
});

describe("flows", () => {
  it("do not wait for each other: four that are slow take sockets of their own, and of each other's none", async () => {
    const slow: ServerResponse[] = [];
    await using server = await startLocalServer((request, response) => {
      if (request.url === "/quick") response.end("ok");
      else slow.push(response);
    });
    using transport = transportTo(server);
    const flows = ["one", "two", "three", "four"];
    const requests = flows.flatMap((flow) =>
      Array.from({ length: 100 }, () => transport.send({ method: "POST", path: `/${flow}`, body: "{}", flow })),
    );
    const all = Promise.all(requests.map((request) => request.then(textOf)));
    await expect.poll(() => slow.length, patiently).toBe(4 * 64);
    for (const flow of flows) expect(server.seen.filter(({ url }) => url === `/${flow}`)).toHaveLength(64);
    expect(await textOf(await transport.send({ method: "POST", path: "/quick", body: "{}", flow: "five" }))).toBe("ok");
    expect(slow).toHaveLength(4 * 64);
    for (let answered = 0; answered < requests.length; answered++) {
      await expect.poll(() => slow.length, patiently).toBeGreaterThan(answered);
      slow[answered]?.end("ok");
    }
    expect(await all).toHaveLength(400);
  });
});

interface Gate extends AsyncDisposable {
  readonly port: number;
  readonly connections: number;
}

/** Accepts connections and passes nothing on until `open`. */
async function startGate(to: number, open: Promise<void>): Promise<Gate> {
  const sockets: Socket[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.push(socket);
    socket.on("error", () => undefined);
    void open.then(() => {
      const upstream = connect(to, "127.0.0.1");
      sockets.push(upstream);
      upstream.on("error", () => socket.destroy());
      socket.pipe(upstream).pipe(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
