// One cluster over a transport that the test answers for, in virtual time.
import { Buffer } from "node:buffer";
import { type Client, type ConnectionConfig, ConnectionError, createClient, createLogger, type Transport } from "@keyturn/runtime";
import { createAuthority, VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { readSettings } from "./flags.ts";
import { Target, TargetPool } from "./target.ts";

const place = { namespace: "kyma-system", name: "eventing-webhook-auth" };
const connection: ConnectionConfig = {
  server: "https://runtime.example",
  credentials: { authorize: () => Promise.resolve({ headers: {}, tls: {} }), refresh: () => Promise.resolve(false) },
  source: "test",
};
const line = (value: object): Uint8Array => Buffer.from(`${JSON.stringify(value)}\n`);
const bookmark = (resourceVersion: string) =>
  line({ type: "BOOKMARK", object: { metadata: { resourceVersion, annotations: { "k8s.io/initial-events-end": "true" } } } });

/** A cluster that answers as it is set up to. */
class ScriptedCluster implements Transport {
  answer: { readonly type: "refused" } | { readonly type: "status"; readonly status: number } | { readonly type: "watch" | "silence" } = {
    type: "watch",
  };
  #push: ((chunk: Uint8Array | undefined) => void) | undefined;
  watches = 0;
  isClosed = false;

  send(_request: unknown, signal?: AbortSignal): ReturnType<Transport["send"]> {
    if (this.answer.type === "refused") return Promise.reject(new ConnectionError("connect ECONNREFUSED"));
    if (this.answer.type === "status")
      return Promise.resolve({ status: this.answer.status, headers: { "content-type": "application/json" }, body: chunks([]) });
    this.watches++;
    const queue: (Uint8Array | undefined)[] = this.answer.type === "silence" ? [] : [bookmark("5")];
    let wake = (): void => {};
    this.#push = (chunk) => {
      queue.push(chunk);
      wake();
    };
    async function* stream(): AsyncGenerator<Uint8Array> {
      for (;;) {
        if (signal?.aborted) return;
        while (queue.length > 0) {
          const chunk = queue.shift();
          if (!chunk) throw new ConnectionError("the connection broke");
          yield chunk;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
          signal?.addEventListener("abort", () => resolve(), { once: true });
        });
      }
    }
    return Promise.resolve({ status: 200, headers: { "content-type": "application/json" }, body: stream() });
  }

  close(): void {
    this.isClosed = true;
  }

  say(chunk: Uint8Array): void {
    this.#push?.(chunk);
  }

  /** Breaks the watch that is open. */
  cut(): void {
    this.#push?.(undefined);
  }
}

async function* chunks(all: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* all;
}

function open(cluster: ScriptedCluster) {
  const clock = new VirtualClock();
  let changes = 0;
  const target = new Target({
    connection,
    place,
    timeoutMs: 10_000,
    clock,
    random: () => 0,
    log: createLogger({ level: "silent" }),
    onChange: () => changes++,
    openTransport: () => cluster,
  });
  return { clock, target, changes: () => changes };
}

test("is being connected to until its first answer, which is reported", async () => {
  const cluster = new ScriptedCluster();
  const { clock, target, changes } = open(cluster);
  expect(target.observe()).toMatchObject({ type: "unobserved", trouble: { reason: "TargetConnecting" } });
  await clock.advance(0);
  expect(target.observe()).toEqual({ type: "observed", secret: undefined });
  expect(changes()).toBeGreaterThan(0);
});

test("that takes the connection and never shows what it has is unreachable after half a minute, until it does", async () => {
  const cluster = new ScriptedCluster();
  cluster.answer = { type: "silence" };
  const { clock, target, changes } = open(cluster);
  await clock.advance(29_000);
  expect(target.observe()).toMatchObject({ type: "unobserved", trouble: { reason: "TargetConnecting" } });
  const before = changes();
  await clock.advance(1_000);
  expect(target.observe()).toMatchObject({ type: "unobserved", trouble: { reason: "TargetUnreachable" } });
  expect(changes()).toBeGreaterThan(before);
  cluster.answer = { type: "watch" };
  await clock.advance(60_000);
  cluster.say(bookmark("5"));
  await clock.advance(0);
  expect(target.observe()).toEqual({ type: "observed", secret: undefined });
});

test.each([400, 422])("is in no trouble when it declines to stream the first list with %i, as older servers do", async (status) => {
  const cluster = new ScriptedCluster();
  cluster.send = ({ path }: { readonly path: string }) => {
    const declines = path.includes("sendInitialEvents=");
    return declines ? Promise.resolve({ status, headers: { "content-type": "application/json" }, body: chunks([]) }) : new Promise(() => {});
  };
  const { clock, target } = open(cluster);
  await clock.advance(0);
  expect(target.observe()).toMatchObject({ type: "unobserved", trouble: { reason: "TargetConnecting" } });
});

test.each([
  [{ type: "refused" } as const, "TargetUnreachable", "ECONNREFUSED"],
  [{ type: "status", status: 401 } as const, "TargetForbidden", "401"],
  [{ type: "status", status: 403 } as const, "TargetForbidden", "403"],
  [{ type: "status", status: 503 } as const, "TargetUnreachable", "503"],
])("reports at once that it was never reached: %j", async (answer, reason, words) => {
  const cluster = new ScriptedCluster();
  cluster.answer = answer;
  const { clock, target } = open(cluster);
  await clock.advance(0);
  expect(target.observe()).toMatchObject({ type: "unobserved", trouble: { reason, message: expect.stringContaining(words) as string } });
  cluster.answer = { type: "watch" };
  await clock.advance(60_000);
  expect(target.observe()).toEqual({ type: "observed", secret: undefined });
});

test("does not report trouble that ends by itself, and reports trouble that lasts, once it had been reached", async () => {
  const cluster = new ScriptedCluster();
  const { clock, target, changes } = open(cluster);
  await clock.advance(60_000);
  cluster.answer = { type: "refused" };
  cluster.cut();
  await clock.advance(20_000);
  expect(target.observe()).toEqual({ type: "observed", secret: undefined });
  const before = changes();
  await clock.advance(15_000);
  expect(changes()).toBeGreaterThan(before);
  expect(target.observe()).toMatchObject({ type: "observed", trouble: { reason: "TargetUnreachable" } });
  cluster.answer = { type: "watch" };
  await clock.advance(60_000);
  expect(target.observe()).toEqual({ type: "observed", secret: undefined });
});

test("shows an own write before the watch does, and what others write as soon as it does", async () => {
  const cluster = new ScriptedCluster();
  const { clock, target } = open(cluster);
  await clock.advance(0);
  const secret = (resourceVersion: string, clientId: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...place, uid: "u", resourceVersion },
    data: { client_id: Buffer.from(clientId).toString("base64") },
  });
  target.wrote(secret("6", "ours"), "u");
  expect(target.observe()).toMatchObject({ secret: { clientId: "ours" } });
  cluster.say(line({ type: "ADDED", object: secret("6", "ours") }));
  cluster.say(line({ type: "MODIFIED", object: secret("7", "theirs") }));
  await clock.advance(0);
  expect(target.observe()).toMatchObject({ secret: { clientId: "theirs" } });
  target.wrote(undefined, "u");
  expect(target.observe()).toEqual({ type: "observed", secret: undefined });
});

test("is closed for good", async () => {
  const cluster = new ScriptedCluster();
  const { clock, target } = open(cluster);
  await clock.advance(0);
  target.close();
  expect(cluster.isClosed).toBe(true);
  const { watches } = cluster;
  await clock.advance(3_600_000);
  expect(cluster.watches).toBe(watches);
});

// The clusters of all runtimes: opened once, opened anew when their kubeconfig changes, closed when nobody asks for them.

const authority = Buffer.from(createAuthority("pool").certificate).toString("base64");
const kubeconfig = (user: object) =>
  JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "c" } }],
    clusters: [{ name: "c", cluster: { server: "https://runtime.example", "certificate-authority-data": authority } }],
    users: [{ name: "c", user }],
  });

/** A control plane in which every Secret holds this kubeconfig. */
function controlPlane(text: string | undefined): Client {
  const metadata = { namespace: "kcp-system", name: "kubeconfig-a", uid: "u", resourceVersion: "1" };
  const secret = { apiVersion: "v1", kind: "Secret", metadata, data: text === undefined ? {} : { config: Buffer.from(text).toString("base64") } };
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(JSON.stringify(secret));
  }
  return createClient({ send: () => Promise.resolve({ status: 200, headers: { "content-type": "application/json" }, body: body() }), close() {} });
}

function openTargetPool() {
  const clock = new VirtualClock();
  const closed: string[] = [];
  const silent = (): Transport => ({ send: () => new Promise(() => {}), close: () => void closed.push("closed") });
  const settings = readSettings((flag) => flag.parse(undefined));
  const pool = new TargetPool({ settings, clock, random: () => 0, log: createLogger({ level: "silent" }), onChange() {}, openTransport: silent });
  return { clock, closed, pool };
}

test("the same kubeconfig gives the same connection, a changed one another, and the old one is closed", async () => {
  const { pool, closed } = openTargetPool();
  const client = controlPlane(kubeconfig({ token: "t" }));
  const first = await pool.open("a", "digest-1", client);
  expect(first.type).toBe("open");
  expect(await pool.open("a", "digest-1", client)).toBe(first);
  expect(await pool.open("a", "digest-2", client)).not.toBe(first);
  expect(closed).toHaveLength(1);
  expect(pool.size).toBe(1);
});

test("a kubeconfig that is missing, broken or wants too much opens nothing, and says why", async () => {
  const { pool } = openTargetPool();
  expect(await pool.open("a", "1", controlPlane(undefined))).toMatchObject({ type: "refused", trouble: { reason: "KubeconfigRefused" } });
  expect(await pool.open("a", "2", controlPlane("{"))).toMatchObject({ type: "refused", trouble: { reason: "KubeconfigRefused" } });
  for (const [index, hostile] of ["[".repeat(30_000), "a,".repeat(15_000), "\n".repeat(30_000), "x".repeat(33_000)].entries()) {
    expect(await pool.open("a", `hostile-${index}`, controlPlane(hostile))).toMatchObject({
      type: "refused",
      trouble: { reason: "KubeconfigRefused", message: expect.stringMatching(/more lines and signs|longer than/) },
    });
  }
  const refused = await pool.open("a", "3", controlPlane(kubeconfig({ tokenFile: "/etc/passwd" })));
  expect(refused).toMatchObject({
    trouble: { message: expect.stringContaining("in Secret kcp-system/kubeconfig-a is refused: tokenFile") as string },
  });
});

test("what nobody asks for is closed, and so is everything at the end", async () => {
  const { pool, clock, closed } = openTargetPool();
  const client = controlPlane(kubeconfig({ token: "t" }));
  await pool.open("a", "1", client);
  await pool.open("b", "1", client);
  await clock.advance(10_000);
  await pool.open("b", "1", client);
  pool.closeUnused(5_000);
  expect([pool.size, closed.length]).toEqual([1, 1]);
  pool.closeAll();
  expect([pool.size, closed.length]).toEqual([0, 2]);
});
