// Certificates and proxies, against real servers on this machine.
import { generateKeyPairSync } from "node:crypto";
import { createServer, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates, type TlsOptions, type TLSSocket } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { createAuthority, issueCertificate, signCertificate } from "../x509.ts";
import { fixedCredentials, type Credentials, type TlsMaterial } from "./auth/credentials.ts";
import { createHttpTransport, type HttpTransportOptions } from "./http/http-transport.ts";
import { patiently, startLocalServer, textOf } from "./local-server.fixture.ts";
import { ConnectionError, type Transport } from "./transport.ts";

const authority = createAuthority("test authority");
const otherAuthority = createAuthority("another authority");
const serverKeys = issueCertificate(authority, { usage: "server", commonName: "api", hosts: ["127.0.0.1", "api.test"] });
const get = { method: "GET", path: "/x" } as const;

/** The server answers with the common name of the client's certificate. */
const startServer = (clientAuthority?: string) =>
  startLocalServer(
    (request, response) => {
      if (request.url === "/watch") response.write("begin");
      else response.end((request.socket as TLSSocket).getPeerCertificate().subject?.CN ?? "nobody");
    },
    { ...serverKeys, ...(clientAuthority && { clientAuthority }) },
  );

function open(server: string, tls: TlsMaterial, options: Partial<HttpTransportOptions> = {}): Transport & Disposable {
  const transport = createHttpTransport({ server, credentials: fixedCredentials({ tls }), ...options });
  return { send: transport.send.bind(transport), close: transport.close.bind(transport), [Symbol.dispose]: () => transport.close() };
}

it.each(["cut without a word", "ended in order"] as const)("a success that ends only with its connection is never whole: %s", async (how) => {
  const server = createTlsServer({ cert: serverKeys.certificate, key: serverKeys.privateKey }, (socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"items":[]', () =>
        how === "ended in order" ? socket.end() : socket.destroy(),
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  using transport = open(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, { ca: authority.certificate });
  await expect(textOf(await transport.send(get))).rejects.toMatchObject({ code: "Connection" });
});

describe("certificates", () => {
  it("trusts the given authority and no other", async () => {
    await using server = await startServer();
    using trusting = open(server.url, { ca: authority.certificate });
    expect(await textOf(await trusting.send(get))).toBe("nobody");
    using wary = open(server.url, { ca: otherAuthority.certificate });
    await expect(wary.send(get)).rejects.toMatchObject({ code: "Connection" });
    using careless = open(server.url, {}, { insecureSkipTlsVerify: true });
    expect(await textOf(await careless.send(get))).toBe("nobody");
  });

  it("expects the name that is set", async () => {
    await using server = await startServer();
    using named = open(server.url, { ca: authority.certificate }, { tlsServerName: "api.test" });
    expect(await textOf(await named.send(get))).toBe("nobody");
    using misnamed = open(server.url, { ca: authority.certificate }, { tlsServerName: "other.test" });
    await expect(misnamed.send(get)).rejects.toThrow(/other\.test/);
  });

  it("shows its own certificate, and the next one as soon as it changes, while streams go on", async () => {
    await using server = await startServer(authority.certificate);
    const keysOf = (commonName: string): TlsMaterial => {
      const { certificate, privateKey } = issueCertificate(authority, { usage: "client", commonName });
      return { ca: authority.certificate, cert: certificate, key: privateKey };
    };
    let tls = keysOf("jane");
    const credentials: Credentials = { authorize: () => Promise.resolve({ headers: {}, tls }), refresh: () => Promise.resolve(false) };
    using transport = open(server.url, {}, { credentials });
    const watch = (await transport.send({ method: "GET", path: "/watch", lane: "watch" })).body[Symbol.asyncIterator]();
    await watch.next();
    expect(await textOf(await transport.send(get))).toBe("jane");
    tls = keysOf("joe");
    await expect.poll(async () => textOf(await transport.send(get)), patiently).toBe("joe");
    const next = watch.next();
    await expect.poll(() => server.open, patiently).toBe(2);
    transport.close();
    await expect(next).rejects.toMatchObject({ code: "Connection" });
    await expect.poll(() => server.open, patiently).toBe(0);
  });

  it("says that certificates are no good, without showing them", async () => {
    const { certificate } = issueCertificate(authority, { usage: "client", commonName: "a" });
    const { privateKey } = issueCertificate(authority, { usage: "client", commonName: "b" });
    using transport = open("https://127.0.0.1:1", { cert: certificate, key: privateKey });
    await expect(transport.send(get)).rejects.toThrow(/^the certificates for https:\/\/127\.0\.0\.1:1 cannot be used: .*mismatch/);
  });
});

describe("a server that would cost more than its answers", () => {
  /** Answers each request, after whatever else it does to the socket. */
  async function serve(options: TlsOptions, act: (socket: TLSSocket) => void): Promise<string> {
    const server = createTlsServer({ cert: serverKeys.certificate, key: serverKeys.privateKey, ...options }, (socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => act(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
  const trusted: TlsMaterial = { ca: authority.certificate };

  it("is not asked if it wants Diffie-Hellman in a field of its own choice", async () => {
    const key = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const publicKey = key.publicKey.export({ type: "spki", format: "der" });
    const names = { issuer: "api", subject: "api", notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
    const keys = { cert: signCertificate(key.privateKey, { ...names, publicKey }), key: key.privateKey.export({ type: "pkcs8", format: "pem" }) };
    const options = { ...keys, maxVersion: "TLSv1.2", dhparam: "auto" } as const;
    const [own, common] = await Promise.all(
      ["DHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"].map((ciphers) => serve({ ...options, ciphers }, (socket) => socket.end(answer))),
    );
    using transport = open(own ?? "", {}, { insecureSkipTlsVerify: true });
    await expect(transport.send(get)).rejects.toMatchObject({ code: "Connection" });
    using other = open(common ?? "", {}, { insecureSkipTlsVerify: true });
    expect(await textOf(await other.send(get))).toBe("ok");
  });

  it("gets no second handshake on a connection", async () => {
    const outcome = Promise.withResolvers<Error | null>();
    const server = await serve({ maxVersion: "TLSv1.2" }, (socket) => {
      socket.renegotiate({ requestCert: true, rejectUnauthorized: false }, outcome.resolve);
      socket.on("error", outcome.resolve);
    });
    using transport = open(server, trusted);
    const sent = transport.send(get).catch(() => undefined);
    expect(await outcome.promise).toBeInstanceOf(Error);
    transport.close();
    await sent;
  });

  it("is charged for what TLS says besides the data, and given up when that is too much", async () => {
    const server = await serve({}, () => undefined);
    const told: [number, string][] = [];
    const onRead = (...read: [number, string]): void => {
      told.push(read);
      throw new ConnectionError("too much");
    };
    using transport = open(server, trusted, { onRead });
    await expect(transport.send(get)).rejects.toThrow("too much");
    expect(told).toEqual([[expect.any(Number), "TLS"]]);
    // At least the server's certificate.
    expect(told[0]?.[0]).toBeGreaterThan(500);
  });

  it("is charged for each byte of its data once", async () => {
    const server = await serve({}, (socket) => socket.write(answer));
    let data = 0;
    using transport = open(server, trusted, { onRead: (bytes, of) => void (of === "data" && (data += bytes)) });
    expect(await textOf(await transport.send(get))).toBe("ok");
    expect(data).toBe(answer.length);
  });
});

interface LocalProxy extends AsyncDisposable {
  readonly port: number;
  readonly tunnels: readonly { readonly to: string | undefined; readonly authorization: string | undefined }[];
}

/** A proxy that tunnels everything to `port`, whatever host it is asked for. */
async function startProxy(port: number, secure = false): Promise<LocalProxy> {
  const tunnels: { to: string | undefined; authorization: string | undefined }[] = [];
  const sockets = new Set<Socket>();
  const server: Server = secure ? createHttpsServer({ cert: serverKeys.certificate, key: serverKeys.privateKey }) : createServer();
  server.on("connect", (request, client: Socket) => {
    tunnels.push({ to: request.url, authorization: request.headers["proxy-authorization"] });
    const upstream = connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(upstream).pipe(client);
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port: (server.address() as AddressInfo).port, tunnels, [Symbol.asyncDispose]: close };
}

describe("proxies", () => {
  const tls = { ca: authority.certificate };

  it("tunnels through the proxy of the kubeconfig, with its password, and keeps the tunnel", async () => {
    await using server = await startServer();
    await using proxy = await startProxy(server.port);
    using transport = open(`https://api.test:6443`, tls, { proxyUrl: `http://jane:pw@127.0.0.1:${proxy.port}` });
    for (let round = 0; round < 3; round++) expect(await textOf(await transport.send(get))).toBe("nobody");
    expect(proxy.tunnels).toEqual([{ to: "api.test:6443", authorization: `Basic ${Buffer.from("jane:pw").toString("base64")}` }]);
  });

  it.each([
    ["p%40w", "p@w"],
    ["100%", "100%"],
  ])("shows a proxy the password that was meant by %s", async (written, meant) => {
    await using server = await startServer();
    await using proxy = await startProxy(server.port);
    using transport = open(`https://api.test:6443`, tls, { proxyUrl: `http://jane:${written}@127.0.0.1:${proxy.port}` });
    expect(await textOf(await transport.send(get))).toBe("nobody");
    expect(proxy.tunnels).toMatchObject([{ authorization: `Basic ${Buffer.from(`jane:${meant}`).toString("base64")}` }]);
  });

  it("takes the proxy from the environment, unless NO_PROXY names the server", async () => {
    await using server = await startServer();
    await using proxy = await startProxy(server.port);
    const env = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: "10.0.0.0/8,.internal" };
    using proxied = open(`https://api.test:6443`, tls, { env });
    expect(await textOf(await proxied.send(get))).toBe("nobody");
    using direct = open(server.url, tls, { env });
    expect(await textOf(await direct.send(get))).toBe("nobody");
    expect(proxy.tunnels).toHaveLength(1);
  });

  it("goes through a proxy that itself speaks TLS, with a certificate that the machine trusts, and breaks a write off there too", async () => {
    const trusted = getCACertificates("default");
    setDefaultCACertificates([...trusted, authority.certificate]);
    onTestFinished(() => setDefaultCACertificates(trusted));
    await using server = await startServer();
    await using proxy = await startProxy(server.port, true);
    using transport = open(`https://api.test:6443`, tls, { proxyUrl: `https://127.0.0.1:${proxy.port}` });
    expect(await textOf(await transport.send(get))).toBe("nobody");
    expect(proxy.tunnels).toHaveLength(1);
    const caller = new AbortController();
    const write = transport.send({ method: "POST", path: "/watch", body: "{}" }, caller.signal);
    await (await write).body[Symbol.asyncIterator]().next();
    caller.abort("enough");
    await expect.poll(() => server.open, patiently).toBe(0);
  });

  it("ends a stream in a tunnel when its caller does", async () => {
    await using server = await startServer();
    await using proxy = await startProxy(server.port);
    using transport = open(`https://api.test:6443`, tls, { proxyUrl: `http://127.0.0.1:${proxy.port}` });
    const caller = new AbortController();
    const response = await transport.send({ method: "GET", path: "/watch" }, caller.signal);
    await response.body[Symbol.asyncIterator]().next();
    caller.abort("enough");
    await expect.poll(() => server.open, patiently).toBe(0);
  });

  it("gives up on a proxy that does not answer, and closes the connection to it", async () => {
    await using proxy = await startSilentServer();
    using transport = open(`https://api.test:6443`, tls, { proxyUrl: `http://127.0.0.1:${proxy.port}` });
    await expect(transport.send({ ...get, timeoutMs: 50 })).rejects.toMatchObject({ code: "Connection" });
    await expect.poll(() => proxy.open, patiently).toBe(0);
  });
});

/** Accepts connections and says nothing. */
async function startSilentServer(): Promise<AsyncDisposable & { readonly port: number; readonly open: number }> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.resume().on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return {
    port: (server.address() as AddressInfo).port,
    get open() {
      return sockets.size;
    },
    [Symbol.asyncDispose]: close,
  };
}
