// Probes and scrapes over real sockets.
import { type IncomingMessage, request as send } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import type { WatchStatus } from "../cache/caches.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import {
  controllerCheck,
  type HealthServer,
  type HealthServerOptions,
  parseBindAddress,
  simpleCheck,
  startHealthServer,
  startHeartbeat,
  watchCheck,
} from "./health.ts";
import { createMetrics } from "./metrics.ts";
import { createLogger } from "./logger.ts";

const log = createLogger({ level: "silent" });
const running: HealthServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});

async function start(options: Partial<HealthServerOptions> = {}): Promise<HealthServer> {
  const defaults = {
    healthBindAddress: "127.0.0.1:0",
    metricsBindAddress: "127.0.0.1:0",
    liveness: [],
    readiness: [],
    metrics: createMetrics(),
    log,
  };
  const server = await startHealthServer({ ...defaults, ...options });
  running.push(server);
  return server;
}

async function get(url: string, init?: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  return `${response.status} ${await response.text()}`;
}

const watch = (status: Partial<WatchStatus>): WatchStatus => ({
  resource: "secrets",
  namespace: undefined,
  state: { type: "live" },
  synced: true,
  objects: 3,
  quietForMs: 4200,
  ...status,
});

describe("health server", () => {
  test("says ok, and more when asked", async () => {
    const { healthUrl } = await start({ liveness: [simpleCheck("event loop", () => undefined)], readiness: [watchCheck(() => [watch({})])] });
    expect(await get(`${healthUrl}/healthz`)).toBe("200 ok\n");
    expect(await get(`${healthUrl}/healthz?verbose`)).toBe("200 [+] event loop\nok\n");
    expect(await get(`${healthUrl}/readyz?verbose`)).toBe("200 [+] watch secrets: live, 3 objects, last heard from 4 s ago\nok\n");
  });

  test.each(["127.0.0.1", "[::1]", "[::]", ""])("listens on %j", async (host) => {
    const { healthUrl, metricsUrl } = await start({ healthBindAddress: `${host}:0`, metricsBindAddress: `${host}:0` });
    expect(await get(`${healthUrl}/healthz`)).toBe("200 ok\n");
    expect(await get(`${metricsUrl}/metrics`)).toMatch(/^200 /);
    // Without a host, and on [::], both families are served.
    if (host !== "[::1]") expect(await get(`http://127.0.0.1:${new URL(healthUrl ?? "").port}/healthz`)).toBe("200 ok\n");
    if (host !== "127.0.0.1") expect(await get(`http://[::1]:${new URL(healthUrl ?? "").port}/healthz`)).toBe("200 ok\n");
  });

  test("serves pages of the operator's own beside the probes", async () => {
    let asked = 0;
    const { healthUrl } = await start({ pages: { "/status": () => ({ type: "application/json", body: `{"asked":${++asked}}` }) } });
    expect(await get(`${healthUrl}/status`)).toBe('200 {"asked":1}');
    expect(await get(`${healthUrl}/status`)).toBe('200 {"asked":2}');
    expect(await get(`${healthUrl}/healthz`)).toBe("200 ok\n");
  });

  test("readiness names every watch and controller that is not ready, in words without secrets", async () => {
    const statuses = [
      watch({}),
      watch({ namespace: "shop", state: { type: "retrying", error: "refused token=abc123def" } }),
      watch({ resource: "widgets.example.com", state: { type: "missing" }, synced: false }),
      watch({ resource: "nodes", state: { type: "forbidden", rule: "list nodes in the cluster" }, synced: false }),
      watch({ resource: "pods", state: { type: "syncing" }, synced: false }),
    ];
    const { healthUrl } = await start({
      readiness: [watchCheck(() => statuses), controllerCheck(() => [{ name: "jwks", state: "standby", ready: true }])],
    });
    expect(await get(`${healthUrl}/readyz`)).toMatchInlineSnapshot(`
      "503 [+] watch secrets: live, 3 objects, last heard from 4 s ago
      [-] watch secrets in shop: retrying after: refused token=[redacted]; 3 objects, last heard from 4 s ago
      [~] watch widgets.example.com: the API server does not serve this kind; install its CRD
      [-] watch nodes: the right to list nodes in the cluster is missing
      [-] watch pods: syncing, 3 objects, last heard from 4 s ago
      [+] controller jwks: standby
      failed
      "
    `);
    expect(await get(`${healthUrl}/healthz`)).toBe("200 ok\n");
  });

  test("a check that throws fails the report and nothing else", async () => {
    const { healthUrl } = await start({
      readiness: [
        () => {
          throw new Error("oops");
        },
      ],
    });
    expect(await get(`${healthUrl}/readyz`)).toBe("503 [-] check: a check threw: Error: oops\nfailed\n");
  });

  test("serves metrics", async () => {
    const { metricsUrl } = await start();
    expect(await get(`${metricsUrl}/metrics`)).toContain("# HELP workqueue_depth ");
  });

  test("shares one server when both addresses are the same", async () => {
    const { healthUrl, metricsUrl } = await start();
    expect(healthUrl).toBe(metricsUrl);
    expect(await get(`${healthUrl}/metrics`)).toMatch(/^200 /);
  });

  test("answers nothing but GET and HEAD, and nothing but its paths", async () => {
    const { healthUrl } = await start();
    expect(await get(`${healthUrl}/healthz`, { method: "POST", body: "x".repeat(100_000) })).toBe("405 only GET and HEAD are answered\n");
    expect(await get(`${healthUrl}/healthz`, { method: "HEAD" })).toBe("200 ");
    expect(await get(`${healthUrl}/`)).toBe("404 not found; there are /healthz, /readyz, /metrics\n");
  });

  test("can be off", async () => {
    expect(await start({ healthBindAddress: "0", metricsBindAddress: "0" })).toMatchObject({ healthUrl: undefined, metricsUrl: undefined });
  });

  test("a port in use is a clear error", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" ? address?.port : 0;
    const attempt = start({ metricsBindAddress: `127.0.0.1:${port}` });
    await expect(attempt).rejects.toThrow(`cannot listen on 127.0.0.1:${port} for metrics: the port is in use; choose another or stop what uses it`);
    other.close();
  });
});

describe("when there are more connections than are taken", () => {
  const clients: Socket[] = [];
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
  });

  /** Opens 500 connections from an address, one after the other, and waits until the server has closed all but so many of them. */
  async function crowd(url: string | undefined, left: number, { localAddress, sent = "" }: { localAddress: string; sent?: string }): Promise<void> {
    const closings: Promise<unknown>[] = [];
    for (let i = 0; i < 500; i++) {
      const client = connect({ host: "127.0.0.1", port: Number(new URL(url ?? "").port), localAddress }).resume();
      clients.push(client);
      client.on("error", () => client.destroy());
      await once(client, "connect");
      if (sent) client.write(sent);
      closings.push(new Promise((resolve) => client.once("close", resolve)));
    }
    await Promise.all(closings.slice(0, 500 - left));
  }

  /** A request on a connection of its own, as kubelet makes it. */
  async function probe(url: string | undefined, localAddress: string): Promise<number | undefined> {
    const request = send(`${url}/healthz`, { localAddress, agent: false });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    await response.resume().toArray();
    return response.statusCode;
  }

  test.each([
    ["idle ones from another address", "127.0.0.2", ""],
    ["idle ones from the prober's own address", "127.0.0.1", ""],
    ["halves of requests", "127.0.0.1", "GET /healthz HTTP/1.1\r\nhost: a\r\n"],
    ["answered ones that are kept", "127.0.0.2", "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"],
  ])("every probe is answered: %s", async (_case, localAddress, sent) => {
    const { healthUrl, metricsUrl } = await start({ metricsBindAddress: "127.0.0.1:00" });
    expect(metricsUrl).not.toBe(healthUrl);
    for (const url of [healthUrl, metricsUrl]) {
      await crowd(url, 64, { localAddress, sent });
      const statuses: unknown[] = [];
      for (let i = 0; i < 8; i++) statuses.push(await probe(url, "127.0.0.1"));
      expect(new Set(statuses)).toEqual(new Set([url === healthUrl ? 200 : 404]));
    }
  });

  test("a connection from an address with few is kept", async () => {
    const { healthUrl } = await start();
    const kept = connect({ host: "127.0.0.1", port: Number(new URL(healthUrl ?? "").port) });
    clients.push(kept);
    await once(kept, "connect");
    await crowd(healthUrl, 63, { localAddress: "127.0.0.2" });
    kept.write("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n");
    const [answer] = await once(kept, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("metrics of many megabytes", () => {
  const large = "x".repeat(10_000_000);
  const counted = (): { readonly options: Partial<HealthServerOptions>; readonly rendered: () => number } => {
    let rendered = 0;
    const text = async (): Promise<string> => {
      rendered += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return large;
    };
    return { options: { metrics: { ...createMetrics(), text } }, rendered: () => rendered };
  };
  const scrape = "GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n";

  test("are rendered once for all that ask meanwhile", async () => {
    const { options, rendered } = counted();
    const { metricsUrl } = await start(options);
    const answers = await Promise.all(Array.from({ length: 5 }, () => get(`${metricsUrl}/metrics`)));
    expect(answers.map((answer) => answer === `200 ${large}`)).toEqual(Array.from({ length: 5 }, () => true));
    expect(rendered()).toBeLessThan(5);
    expect(await get(`${metricsUrl}/metrics`)).toHaveLength(large.length + 4);
  });

  test.each([
    ["at once", scrape.repeat(200), 0],
    ["after the first", scrape, 200],
  ])("are sent once on a connection: more requests %s end it", async (_when, first, later) => {
    const { options, rendered } = counted();
    const { metricsUrl } = await start(options);
    const client = connect({ host: "127.0.0.1", port: Number(new URL(metricsUrl ?? "").port) });
    client.on("error", () => client.destroy());
    const closed = new Promise((resolve) => client.once("close", resolve));
    await once(client, "connect");
    client.write(first);
    for (let i = 0; i < later; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!client.destroyed) client.write(scrape);
    }
    let bytes = 0;
    client.on("data", (data) => (bytes += data.length));
    await closed;
    expect(rendered()).toBe(1);
    expect(bytes).toBeLessThan(large.length + 1000);
  });
});

describe("bind addresses", () => {
  test.each([
    [":8080", { type: "listen", port: 8080 }],
    ["127.0.0.1:0", { type: "listen", host: "127.0.0.1", port: 0 }],
    ["[::]:8081", { type: "listen", host: "::", port: 8081 }],
    ["localhost:1", { type: "listen", host: "localhost", port: 1 }],
    ["0", { type: "off" }],
  ])("%s", (text, address) => {
    expect(parseBindAddress(text)).toEqual(address);
  });

  test.each(["8080", ":", ":99999", "::1:80", "a b:1"])("%s is none", (text) => {
    expect(() => parseBindAddress(text)).toThrow("cannot read the bind address");
  });
});

test("the heartbeat fails only when timers stop firing", async () => {
  const clock = new VirtualClock();
  const heartbeat = startHeartbeat(clock);
  await clock.advance(300_000);
  expect(heartbeat.check()).toEqual([{ name: "event loop", result: "ok" }]);
  heartbeat.stop();
  await clock.advance(120_000);
  expect(heartbeat.check()).toMatchObject([{ result: "failed", detail: "timers have not fired for 120 s" }]);
});
