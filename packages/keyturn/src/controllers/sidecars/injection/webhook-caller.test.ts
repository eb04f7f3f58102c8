import type { MutatingWebhook } from "@keyturn/runtime";
import { createAuthority, VirtualClock } from "@keyturn/runtime/testing";
import { soon } from "@keyturn/runtime/testing/vitest";
import { Buffer } from "node:buffer";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Istiod, type Misbehaviour, startIstiod } from "../../../dev/stand-ins/istiod.ts";
import { createWebhookCaller, type WebhookCall, type WebhookService } from "./webhook.ts";

let istiod: Istiod;
beforeAll(async () => {
  istiod = await startIstiod({ revision: "canary" });
});
afterEach(() => istiod.misbehave(undefined));
afterAll(() => istiod[Symbol.asyncDispose]());

const pod = { metadata: { namespace: "shop", generateName: "web-" }, spec: { containers: [{ name: "app", image: "app:1" }] } };

function webhook(more: Partial<MutatingWebhook> = {}, byService = false): MutatingWebhook {
  const [first] = istiod.revisionConfiguration({ byService }).webhooks ?? [];
  if (!first) throw new Error("a control plane has webhooks");
  return { ...first, ...more };
}

describe("a webhook that answers", () => {
  test("injects the pod", async () => {
    using caller = disposable(createWebhookCaller());
    expect(await caller.review(webhook(), pod)).toMatchObject({
      type: "allowed",
      changed: true,
      pod: { spec: { containers: [{ name: "app" }, { name: "istio-proxy" }] } },
    });
    expect(istiod.calls.at(-1)).toMatchObject({ namespace: "shop", dryRun: true, path: "/inject", pod });
  });

  test("is asked with another uid each time, over one connection", async () => {
    using caller = disposable(createWebhookCaller());
    const [connections, calls] = [istiod.connections, istiod.calls.length];
    for (let time = 0; time < 5; time++) await caller.review(webhook(), pod);
    expect(new Set(istiod.calls.slice(calls).map(({ uid }) => uid)).size).toBe(5);
    expect(istiod.connections - connections).toBe(1);
  });

  test("behind a Service is reached where that is, and its certificate is for the Service", async () => {
    const services: WebhookService[] = [];
    using caller = disposable(
      createWebhookCaller({ resolveService: (service) => (services.push(service), { host: "127.0.0.1", port: istiod.port }) }),
    );
    expect(await caller.review(webhook({}, true), pod)).toMatchObject({ type: "allowed" });
    expect(services).toEqual([{ namespace: "istio-system", name: "istiod-canary", port: 443 }]);
    const other = { service: { namespace: "istio-system", name: "istiod-other" }, caBundle: webhook().clientConfig.caBundle ?? "" };
    expect(await caller.review(webhook({ clientConfig: other }), pod)).toMatchObject({
      type: "failed",
      message: expect.stringContaining("altnames"),
    });
  });

  test("is timed", async () => {
    const calls: WebhookCall[] = [];
    using caller = disposable(createWebhookCaller({ onAnswer: (call) => calls.push(call) }));
    await caller.review(webhook(), pod);
    istiod.misbehave({ type: "refuse" });
    await caller.review(webhook(), pod);
    expect(calls).toEqual([
      { webhook: "rev.namespace.sidecar-injector.istio.io", outcome: "allowed", seconds: expect.any(Number) },
      { webhook: "rev.namespace.sidecar-injector.istio.io", outcome: "refused", seconds: expect.any(Number) },
    ]);
  });
});

describe("a webhook that fails", () => {
  test.each<readonly [string, Misbehaviour, object]>([
    ["refuses with a message", { type: "refuse", message: "bad annotation" }, { type: "refused", message: "bad annotation" }],
    ["refuses without a status", { type: "refuse" }, { type: "refused", message: "without saying why" }],
    ["is out of order", { type: "status", code: 503 }, { type: "failed", message: "it answered with HTTP status 503" }],
    ["redirects", { type: "status", code: 302 }, { type: "failed", message: "it answered with HTTP status 302" }],
    ["answers another question", { type: "alter", response: { uid: "other" } }, { type: "failed", message: expect.stringContaining("uid") }],
    ["answers with a page", { type: "text", text: "<html>" }, { type: "failed", message: expect.stringContaining("no AdmissionReview") }],
    ["answers far too much", { type: "huge", bytes: 5 * 1024 * 1024 }, { type: "failed", message: "its answer is longer than 4194304 bytes" }],
    ["hangs up", { type: "hangUp" }, { type: "failed", message: expect.any(String) }],
  ])("because it %s", async (_name, how, outcome) => {
    using caller = disposable(createWebhookCaller());
    istiod.misbehave(how);
    expect(await caller.review(webhook(), pod)).toEqual(outcome);
    istiod.misbehave(undefined);
    expect(await caller.review(webhook(), pod)).toMatchObject({ type: "allowed" });
  });

  test.each<Misbehaviour>([{ type: "silence" }, { type: "halfAnswer" }])("because of $type is given up after its own time-out", async (how) => {
    const clock = new VirtualClock();
    using caller = disposable(createWebhookCaller({ clock }));
    istiod.misbehave(how);
    const before = istiod.calls.length;
    const outcome = caller.review(webhook({ timeoutSeconds: 3 }), pod);
    await soon(() => expect(istiod.calls.length).toBe(before + 1));
    await clock.advance(3000);
    expect(await outcome).toEqual({ type: "failed", message: expect.stringContaining("within 3 s") });
  });

  test("because of another authority", async () => {
    using caller = disposable(createWebhookCaller());
    const { clientConfig } = webhook();
    const stranger = Buffer.from(createAuthority("a stranger").certificate).toString("base64");
    for (const caBundle of [stranger, ""]) {
      expect(await caller.review(webhook({ clientConfig: { ...clientConfig, caBundle } }), pod)).toMatchObject({
        type: "failed",
        message: expect.stringMatching(/certificate|signature/),
      });
    }
    expect(await caller.review(webhook(), pod)).toMatchObject({ type: "allowed" });
  });

  test("because nobody is there, or it wants another version", async () => {
    using caller = disposable(createWebhookCaller());
    expect(await caller.review(webhook({ clientConfig: { url: "https://127.0.0.1:1/inject" } }), pod)).toMatchObject({ type: "failed" });
    expect(await caller.review(webhook({ admissionReviewVersions: ["v1beta1"] }), pod)).toMatchObject({
      type: "failed",
      message: expect.stringContaining("v1"),
    });
    expect(await caller.review(webhook({ clientConfig: {} }), pod)).toMatchObject({ type: "failed", message: expect.stringContaining("neither") });
  });
});

test("no connection outlives the controller: an idle one would keep its process", async () => {
  const closed = new AbortController();
  // By a clock that stands still no connection is idle for too long.
  const caller = createWebhookCaller({ clock: new VirtualClock(), closed: closed.signal });
  await soon(() => expect(istiod.openConnections).toBe(0));
  expect(await caller.review(webhook(), pod)).toMatchObject({ type: "allowed" });
  expect(istiod.openConnections).toBe(1);
  closed.abort();
  await soon(() => expect(istiod.openConnections).toBe(0));
});

test("a caller that stops waiting gets its own reason", async () => {
  using caller = disposable(createWebhookCaller());
  istiod.misbehave({ type: "silence" });
  const stop = new AbortController();
  const before = istiod.calls.length;
  const review = caller.review(webhook(), pod, stop.signal);
  await soon(() => expect(istiod.calls.length).toBe(before + 1));
  stop.abort(new Error("enough"));
  await expect(review).rejects.toThrow("enough");
  await expect(caller.review(webhook(), pod, stop.signal)).rejects.toThrow("enough");
});

test("proxies of the environment are not used", async () => {
  const seen: string[] = [];
  const proxy = createServer((request, response) => void response.end(seen.push(request.url ?? "")));
  proxy.on("connect", (request, socket) => void socket.end(String(seen.push(request.url ?? ""))));
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    vi.unstubAllEnvs();
    proxy.close();
  });
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  for (const name of ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"]) vi.stubEnv(name, url);
  vi.stubEnv("NODE_USE_ENV_PROXY", "1");
  using caller = disposable(createWebhookCaller());
  expect(await caller.review(webhook(), pod)).toMatchObject({ type: "allowed" });
  expect(seen).toEqual([]);
});

function disposable<T extends { close(): void }>(closable: T): T & Disposable {
  return Object.assign(closable, { [Symbol.dispose]: () => closable.close() });
}
