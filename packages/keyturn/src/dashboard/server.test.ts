// The server as a client meets it: files, headers, refusals, limits.
import { request as send } from "node:http";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { IncomingMessage } from "node:http";
import { createLogger, createMetrics, metricsOf, systemClock } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { afterEach, describe, expect, it } from "vitest";
import { dashboardMetrics } from "./dashboard.ts";
import { issuedFixture } from "./record.fixture.ts";
import { RecordStore } from "./record-store.ts";
import { secretAccess } from "./viewer-rights.ts";
import { type DashboardServer, type DashboardServerOptions, startDashboardServer } from "./server.ts";
import { readStaticFiles, unbuiltText } from "./static-files.ts";

const script = "console.log('page');\n".repeat(100);
const files = await readStaticFiles(
  async () =>
    new Map([
      ["index.html", Buffer.from("<!doctype html>")],
      ["assets/page-1a2b.js", Buffer.from(script)],
    ]),
);
const { secret, access } = secretAccess();

let open: DashboardServer | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
});

function optionsWith(options: Partial<DashboardServerOptions>): DashboardServerOptions {
  const store = new RecordStore("boot");
  store.commit([issuedFixture("a", "x")], []);
  return {
    bindAddress: "127.0.0.1:0",
    files,
    store,
    access,
    detail: async () => undefined,
    version: "1.2.3",
    shown: { cluster: "c", stages: [] },
    metrics: metricsOf(createMetrics(), dashboardMetrics),
    clock: systemClock,
    log: createLogger({ level: "silent" }),
    ...options,
  };
}

async function serve(options: Partial<DashboardServerOptions> = {}): Promise<string> {
  open = await startDashboardServer(optionsWith(options));
  return open.url;
}

interface Got {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

async function ask(url: string, path = "", headers: Readonly<Record<string, string>> = {}, method = "GET"): Promise<Got> {
  const request = send(`${url}${path}`, { method, headers, agent: false });
  request.end(method === "POST" ? "body" : undefined);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(await response.toArray()) };
}

const authorization = { authorization: `Bearer ${secret}` };

describe("every answer", () => {
  it.each([
    ["", 200],
    ["assets/page-1a2b.js", 200],
    ["nowhere", 404],
    ["../package.json", 404],
    ["api/session", 200],
    ["api/stream", 401],
    ["api/object", 401],
    ["api/nowhere", 404],
  ])("of /%s says how it may be used", async (path, status) => {
    const answer = await ask(await serve(), path);
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      "content-security-policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "permissions-policy": expect.stringContaining("camera=()"),
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
    });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });
});

describe("a file", () => {
  it("that is named by its content may be kept for ever, compressed as the client likes", async () => {
    const url = await serve();
    const plain = await ask(url, "assets/page-1a2b.js");
    expect(plain.headers).toMatchObject({
      "cache-control": "public, max-age=31536000, immutable",
      "content-type": "text/javascript; charset=utf-8",
      vary: "accept-encoding",
    });
    expect(plain.body.toString()).toBe(script);
    const encodings = ["gzip, deflate, br", "gzip", "br;q=0, gzip;q=0.5", "identity"];
    const answers = await Promise.all(encodings.map((encoding) => ask(url, "assets/page-1a2b.js", { "accept-encoding": encoding })));
    expect(answers.map(({ headers }) => headers["content-encoding"])).toEqual(["br", "gzip", "gzip", undefined]);
    expect(answers.every(({ headers, body }) => Number(headers["content-length"]) === body.length)).toBe(true);
  });

  it("that is not is asked for again, and not sent again", async () => {
    const url = await serve();
    const { headers } = await ask(url);
    expect(headers["cache-control"]).toBe("no-cache");
    const again = await ask(url, "", { "if-none-match": headers.etag ?? "" });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    expect((await ask(url, "index.html")).body.toString()).toBe("<!doctype html>");
  });

  it("that has not been built says so", async () => {
    const { status, body } = await ask(await serve({ files: new Map() }));
    expect([status, body.toString()]).toEqual([503, JSON.stringify({ error: unbuiltText })]);
  });
});

describe("a request", () => {
  it("that would write is refused", async () => {
    const url = await serve();
    const methods = await Promise.all(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"].map((method) => ask(url, "api/stream", authorization, method)));
    expect(methods.map(({ status, headers }) => [status, headers.allow])).toEqual(Array.from({ length: 5 }, () => [405, "GET, HEAD"]));
  });

  it("that has a body is refused", async () => {
    expect((await ask(await serve(), "", { "content-length": "0" })).status).toBe(413);
  });

  it("for the head alone gets no body, and no stream", async () => {
    const url = await serve();
    const answers = await Promise.all(["", "api/session", "api/stream"].map((path) => ask(url, path, authorization, "HEAD")));
    expect(answers.map(({ status, body }) => [status, body.length])).toEqual([
      [200, 0],
      [200, 0],
      [200, 0],
    ]);
  });

  it("by another name than the machine's own is refused, so that no site can look through the browser", async () => {
    const url = await serve();
    const { port } = new URL(url);
    const hosts = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, "localhost"];
    const answers = await Promise.all(hosts.map((host) => ask(url, "api/session", { host })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 421, 421, 421]);
  });

  it("from another site's page is refused", async () => {
    const url = await serve();
    const sites = ["same-origin", "none", "cross-site", "same-site"];
    const answers = await Promise.all(sites.map((site) => ask(url, "api/session", { "sec-fetch-site": site })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 403, 403]);
  });

  it("without the secret, or with another, is refused", async () => {
    const url = await serve();
    const tries = [
      {},
      { authorization: "Bearer" },
      { authorization: `Basic ${secret}` },
      { authorization: `Bearer ${secret}x` },
      { authorization: `Bearer ${secret.slice(1)}` },
    ];
    const answers = await Promise.all(tries.map((headers) => ask(url, "api/stream", headers)));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
    expect((await ask(url, `api/stream?secret=${secret}`)).status).toBe(401);
  });

  it("that comes too often learns when to come again", async () => {
    const url = await serve({ clock: new VirtualClock(), rates: { requests: { burst: 2, perMs: 0.0001 }, failures: { burst: 10, perMs: 1 } } });
    const answers = [await ask(url), await ask(url), await ask(url)];
    expect(answers.map(({ status, headers }) => [status, headers["retry-after"]])).toEqual([
      [200, undefined],
      [200, undefined],
      [429, "10"],
    ]);
  });

  it("is answered after the one before it on its connection, and not before", async () => {
    let asked = 0;
    const url = await serve({ detail: async () => ((asked += 1), new Promise((resolve) => setTimeout(() => resolve(undefined), 20))) });
    const address = { host: "127.0.0.1", port: Number(new URL(url).port) };
    const object = `GET /api/object?resource=secrets&name=a HTTP/1.1\r\nhost: 127.0.0.1:${address.port}\r\nauthorization: Bearer ${secret}\r\n\r\n`;
    const pipelining = connect(address, () => pipelining.write(object.repeat(200)));
    pipelining.on("error", () => {}).resume();
    await once(pipelining, "close");
    expect(asked).toBeLessThan(2);

    const patient = connect(address).setEncoding("utf8");
    for (let i = 0; i < 3; i++) {
      patient.write(object);
      const [answer] = (await once(patient, "data")) as [string];
      expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    }
    patient.destroy();
  });

  it("is answered however many idle connections are open", async () => {
    const url = await serve({ maxStreams: 4 });
    const idle: Socket[] = [];
    for (let i = 0; i < 50; i++) {
      const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port) }).on("error", () => {});
      idle.push(socket);
      await once(socket, "connect");
    }
    expect((await ask(url)).status).toBe(200);
    for (const socket of idle) socket.destroy();
  });

  it("for a stream beyond the limit is to come later", async () => {
    const url = await serve({ maxStreams: 1 });
    const request = send(`${url}api/stream`, { headers: authorization, agent: false });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    await once(response, "readable");
    const { status, headers } = await ask(url, "api/stream", authorization);
    expect([status, headers["retry-after"]]).toEqual([503, "10"]);
    request.destroy();
  });
});

it("says without a token only how to get in", async () => {
  const { body } = await ask(await serve(), "api/session");
  expect(JSON.parse(body.toString())).toEqual({ access: "secret", version: "1.2.3", bootId: "boot" });
});

it("says of an object only that there is none, or what there is", async () => {
  const url = await serve({
    detail: async ({ name }) =>
      name === "x" ? { ref: { apiVersion: "", kind: "", resource: "r", namespace: "n", name }, history: [], commands: [] } : undefined,
  });
  expect((await ask(url, "api/object?resource=r&namespace=n&name=y", authorization)).status).toBe(404);
  const { status, headers, body } = await ask(url, "api/object?resource=r&namespace=n&name=x", authorization);
  expect([status, headers["cache-control"]]).toEqual([200, "no-store"]);
  expect(JSON.parse(body.toString())).toMatchObject({ ref: { name: "x" } });
});

it("cannot be started on an address that is taken, and says so", async () => {
  const { port } = new URL(await serve());
  await expect(startDashboardServer(optionsWith({ bindAddress: `127.0.0.1:${port}` }))).rejects.toThrow(
    /cannot listen on 127\.0\.0\.1:\d+ for the dashboard/,
  );
});
