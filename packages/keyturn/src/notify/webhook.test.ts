// A webhook on this machine: what is sent to it, and what becomes of that.
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileText, systemClock } from "@keyturn/runtime";
import { expect, onTestFinished, test } from "vitest";
import { Webhook } from "./webhook.ts";

const { signal } = new AbortController();

async function serve(answer: RequestListener, host = "127.0.0.1"): Promise<string> {
  const server = createServer(answer).listen(0, host);
  onTestFinished(() => void server.close().closeAllConnections());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

async function webhookTo(text: string): Promise<Webhook> {
  const path = join(await mkdtemp(join(tmpdir(), "webhook-")), "url");
  await writeFile(path, text);
  const webhook = new Webhook({ url: fileText(path, "the URL of the webhook", systemClock), clock: systemClock, env: {} });
  onTestFinished(() => webhook[Symbol.dispose]());
  return webhook;
}

test.each(["127.0.0.1", "::1"])("posts JSON to the path of the URL, with the login that is in it, on %s", async (host) => {
  const seen: unknown[] = [];
  const url = await serve(async (request, response) => {
    const body = (await request.toArray()).join("");
    seen.push([request.method, request.url, request.headers["content-type"], request.headers.authorization, body]);
    response.writeHead(200).end("ok");
  }, host);
  const webhook = await webhookTo(`${url.replace("//", "//me:p%40ss@")}/services/T0/B0/secret?thread=1\n`);
  expect(await webhook.post('{"text":"x"}', signal)).toEqual({ type: "sent" });
  const login = `Basic ${Buffer.from("me:p@ss").toString("base64")}`;
  expect(seen).toEqual([["POST", "/services/T0/B0/secret?thread=1", "application/json", login, '{"text":"x"}']]);
});

test.each([
  [204, { type: "sent" }],
  [302, { type: "refused", why: "the webhook answered with HTTP status 302" }],
  [404, { type: "refused", why: "the webhook answered with HTTP status 404" }],
  [408, { type: "failed", why: "the webhook answered with HTTP status 408" }],
  [500, { type: "failed", why: "the webhook answered with HTTP status 500" }],
])("%i", async (status, delivery) => {
  const url = await serve((_, response) => void response.writeHead(status, { location: "http://127.0.0.1:1/" }).end("https://hooks.example/secret"));
  expect(await (await webhookTo(url)).post("{}", signal)).toEqual(delivery);
});

test("429 with a time", async () => {
  const url = await serve((_, response) => void response.writeHead(429, { "retry-after": "7" }).end());
  expect(await (await webhookTo(url)).post("{}", signal)).toEqual({
    type: "failed",
    why: "the webhook answered with HTTP status 429",
    retryAfterMs: 7000,
  });
});

test.each(["", "not a url", "ftp://hooks.example/secret", "http://127.0.0.1:1/services/secret"])("%j fails without showing it", async (text) => {
  const delivery = await (await webhookTo(text)).post("{}", signal);
  expect(delivery.type).toBe("failed");
  expect(JSON.stringify(delivery)).not.toMatch(/secret|127\.0\.0\.1/);
});
