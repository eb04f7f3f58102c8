// A webhook on this machine: what is sent to it, and what becomes of that.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileText, systemClock } from "@keyturn/runtime";
import { expect, onTestFinished, test } from "vitest";
import { startReceiver } from "./receiver.fixture.ts";
import { type Delivery, Webhook } from "./webhook.ts";

/** Posts to the URL in a file with this text. */
async function post(text: string, body = "{}", allowHttp = true): Promise<Delivery> {
  const folder = await mkdtemp(join(tmpdir(), "webhook-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "url"), text);
  const url = fileText(join(folder, "url"), "the URL of the webhook", systemClock);
  using webhook = new Webhook({ url, allowHttp, clock: systemClock, env: {} });
  return await webhook.post(body, new AbortController().signal);
}

test("sends nothing over http unless that is allowed", async () => {
  await using receiver = await startReceiver();
  expect(await post(receiver.url, "{}", false)).toMatchObject({ type: "failed", why: expect.stringContaining("--notify.allow-http") as unknown });
  expect(receiver.received).toEqual([]);
});

test.each([
  ["127.0.0.1", "p%40ss", "p@ss"],
  ["::1", "100%", "100%"],
])("posts JSON to the path of the URL, with the login that is in it, on %s (%s)", async (host, written, meant) => {
  await using receiver = await startReceiver({ host });
  const url = `${receiver.url.replace("//", `//me:${written}@`)}/services/T0/B0/secret?thread=1\n`;
  expect(await post(url, '{"text":"x"}')).toEqual({ type: "sent" });
  const authorization = `Basic ${Buffer.from(`me:${meant}`).toString("base64")}`;
  expect(receiver.received).toMatchObject([
    {
      method: "POST",
      path: "/services/T0/B0/secret?thread=1",
      headers: { "content-type": "application/json", authorization },
      body: '{"text":"x"}',
    },
  ]);
});

test.each([
  [204, { type: "sent" }],
  [302, { type: "refused", why: "the webhook answered with HTTP status 302" }],
  [404, { type: "refused", why: "the webhook answered with HTTP status 404" }],
  [408, { type: "failed", why: "the webhook answered with HTTP status 408", retryAfterMs: 7000 }],
  [429, { type: "failed", why: "the webhook answered with HTTP status 429", retryAfterMs: 7000 }],
  [500, { type: "failed", why: "the webhook answered with HTTP status 500", retryAfterMs: 7000 }],
])("%i", async (status, delivery) => {
  await using receiver = await startReceiver({ status, headers: { location: "http://127.0.0.1:1/", "retry-after": "7" } });
  expect(await post(receiver.url)).toEqual(delivery);
});

test.each(["", "not a url", "ftp://hooks.example/secret", "http://127.0.0.1:1/services/secret"])("%j fails without showing it", async (text) => {
  const delivery = await post(text);
  expect(delivery.type).toBe("failed");
  expect(JSON.stringify(delivery)).not.toMatch(/secret|127\.0\.0\.1/);
});
