// Controllers whose writes all wait for a slow webhook, and one that has nothing to do with it, in one process on a real API server.
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { json } from "node:stream/consumers";
import {
  ConfigMap,
  type ControllerDefinition,
  type ControllerScope,
  createCaches,
  createClient,
  createHttpTransport,
  createLogger,
  createManager,
  createMetrics,
  type KubeObject,
  loadConfig,
  Secret,
  systemClock,
  systemRandom,
} from "@keyturn/runtime";
import { createAuthority, issueCertificate } from "@keyturn/runtime/testing";
import { soon, useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";

const cluster = useSharedApiServer();
const review = z.object({ request: z.object({ uid: z.string(), name: z.string() }) });

interface SlowWebhook extends AsyncDisposable {
  readonly url: string;
  readonly caBundle: string;
  /** The names of the objects whose writes wait for an answer. */
  readonly waiting: readonly string[];
  /** Allows everything, from now on at once. */
  release(): void;
}

/** A webhook that does not answer until it is told to. */
async function startSlowWebhook(): Promise<SlowWebhook> {
  const authority = createAuthority("slow webhook");
  const { certificate, privateKey } = issueCertificate(authority, { usage: "server", commonName: "webhook", hosts: ["127.0.0.1"] });
  const waiting: { readonly name: string; readonly answer: () => void }[] = [];
  let isReleased = false;
  const allow = (uid: string, response: ServerResponse): void =>
    void response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid, allowed: true } }));
  const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
    void json(request).then((body) => {
      const { uid, name } = review.parse(body).request;
      if (isReleased) allow(uid, response);
      else waiting.push({ name, answer: () => allow(uid, response) });
    });
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.once("close", () => sockets.delete(socket))));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    caBundle: Buffer.from(authority.certificate).toString("base64"),
    get waiting() {
      return waiting.map(({ name }) => name);
    },
    release() {
      isReleased = true;
      for (const { answer } of waiting.splice(0)) answer();
    },
    async [Symbol.asyncDispose]() {
      // Also those on which nothing was asked yet: the API server keeps them for a minute and a half.
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Sends every ConfigMap that is created in the namespace to the webhook. */
function configurationOf({ url, caBundle }: SlowWebhook, namespace: string): KubeObject {
  const webhooks = [
    {
      name: "slow.keyturn.test",
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      timeoutSeconds: 30,
      clientConfig: { url, caBundle },
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
    },
  ];
  const type = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" };
  return Object.assign(type, { metadata: { name: namespace }, webhooks });
}

const slowNames = ["one", "two", "three", "four"] as const;
const workers = 16;

test("four controllers with all their writes in a slow webhook do not delay the write of a fifth", async () => {
  await using webhook = await startSlowWebhook();
  const namespace = await cluster().namespace("slow-webhook");
  await cluster().apply([configurationOf(webhook, namespace)]);
  onTestFinished(() =>
    cluster()
      .kubectl("delete", "validatingwebhookconfiguration", namespace)
      .then(() => {}),
  );
  const { client } = cluster();
  // The API server learns of it a moment later.
  const probe = (name: string): Promise<unknown> => client.create(ConfigMap, { metadata: { namespace, name } }, { dryRun: true });
  await soon(async () => {
    void probe(`probe-${Math.random().toString(36).slice(2)}`).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(webhook.waiting).not.toEqual([]);
  });
  const slowWrites = (): number => webhook.waiting.filter((name) => !name.startsWith("probe-")).length;

  const scopes = new Map<string, ControllerScope>();
  const slow = slowNames.map((name): ControllerDefinition => ({
    name,
    access: [],
    concurrency: workers,
    setup(scope) {
      scopes.set(name, scope);
      return async ({ key, client: own }) => void (await own.create(ConfigMap, { metadata: { namespace, name: key } }));
    },
  }));
  const quick: ControllerDefinition = {
    name: "quick",
    access: [],
    setup(scope) {
      scopes.set("quick", scope);
      return async ({ key, client: own }) => void (await own.create(Secret, { metadata: { namespace, name: key } }));
    },
  };
  const transport = createHttpTransport(await loadConfig({ kubeconfig: cluster().adminKubeconfig, env: {} }));
  const shared = { clock: systemClock, random: systemRandom, log: createLogger({ destination: { write: () => true } }) };
  const manager = createManager({
    ...shared,
    operator: { name: "test", domain: "test.dev" },
    client: createClient(transport),
    caches: createCaches({ ...shared, transport }),
    controllers: [...slow, quick],
    metrics: createMetrics(),
    events: () => ({ record() {} }),
    leaderElection: { enabled: false, namespace, identity: "test" },
  });
  const stop = new AbortController();
  const ended = manager.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await ended;
    transport.close();
  });

  for (const name of slowNames) for (let index = 0; index < 2 * workers; index++) scopes.get(name)?.enqueue(`${name}-${index}`);
  await soon(() => expect(slowWrites()).toBe(slowNames.length * workers));
  scopes.get("quick")?.enqueue("done");
  await soon(async () => expect(await client.get(Secret, { namespace, name: "done" })).toBeDefined());
  // It did not take its turn: nobody's was over.
  expect(slowWrites()).toBe(slowNames.length * workers);

  webhook.release();
  await soon(async () => {
    const { items } = await client.list(ConfigMap, { namespace });
    expect(items.filter(({ metadata }) => slowNames.some((name) => metadata.name.startsWith(`${name}-`)))).toHaveLength(4 * 2 * workers);
  });
});
