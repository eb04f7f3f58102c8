// Holds the simulated API server to the real one: the same random requests, step by step, must come to the same answers, objects, owners and watch events.
import { soon } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { fixedCredentials } from "../../src/client/auth/credentials.ts";
import { createHttpTransport } from "../../src/client/http/http-transport.ts";
import { collectionPath } from "../../src/client/kind.ts";
import type { Transport } from "../../src/client/transport.ts";
import { seededRandom } from "../../src/random.ts";
import { startCluster } from "../../src/testing/index.ts";
import type { Cluster } from "../../src/testing/index.ts";
import { forEachSeed } from "../../src/testing/simulation/simulation.ts";
import { SimulatedApiServer } from "../../src/testing/simulation/simulated-api-server.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { comparable, runScript, watchOutcome } from "./differential-run.ts";
import type { Exchange } from "./differential-run.ts";
import { configMaps, leases, randomScript, secrets, widgets } from "./random-writes.ts";
import { widgetDefinition } from "./widget-definition.ts";

let cluster: Cluster;
let transport: Transport;

beforeAll(async () => {
  // The simulation is one of the newest Kubernetes: older ones differ in details, such as which fields an owner is left with, that no controller may rely on.
  vi.stubEnv("K8S", "newest");
  cluster = await startCluster();
  await cluster.apply(widgetDefinition);
  const token = await adminToken(cluster);
  transport = createHttpTransport({
    server: cluster.url,
    credentials: fixedCredentials({ headers: { authorization: `Bearer ${token}` }, tls: { ca: cluster.ca } }),
  });
  await soon(widgetsAreServed);
});

/** A CRD is said to be established a moment before its resource is served. */
async function widgetsAreServed(): Promise<void> {
  const { status } = await onReal({ method: "GET", path: collectionPath(widgets) });
  if (status !== 200) throw new Error(`widgets are not served yet: ${status}`);
}

afterAll(async () => {
  transport.close();
  await cluster.stop();
});

/** A token that may do everything. */
async function adminToken(admin: Cluster): Promise<string> {
  const subject = { kind: "ServiceAccount", name: "differential", namespace: "default" };
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "differential" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [subject],
  };
  await admin.apply([{ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: subject.name, namespace: subject.namespace } }, binding]);
  return admin.tokenFor(subject);
}

const onReal: Exchange = async (request) => {
  const response = await transport.send(request);
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return { status: response.status, body: Buffer.concat(chunks).toString() };
};

function onSimulated(): Exchange {
  const server = new SimulatedApiServer({ clock: new VirtualClock(), random: seededRandom(1) });
  server.serve(widgets);
  return async (request) => {
    const answer = server.handle(request);
    return answer.type === "answer" ? answer : { status: 200, body: answer.session.read().lines.join("") };
  };
}

async function makeNamespace(exchange: Exchange, name: string): Promise<void> {
  const body = JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const { status } = await exchange({ method: "POST", path: "/api/v1/namespaces", headers: { "content-type": "application/json" }, body });
  expect(status).toBe(201);
}

async function listed(exchange: Exchange, path: string): Promise<{ readonly version: string; readonly items: readonly unknown[] }> {
  const { body } = await exchange({ method: "GET", path, headers: { accept: "application/json" } });
  const list: { readonly metadata: { readonly resourceVersion: string }; readonly items: readonly Record<string, unknown>[] } = JSON.parse(body);
  return { version: list.metadata.resourceVersion, items: list.items.map((item) => comparable(item)) };
}

/** What a script comes to on one server. */
interface ScriptOutcome {
  readonly steps: unknown;
  readonly ends: unknown;
  /** Watches from before the script; takes a second, until the server ends it. */
  readonly watched: () => Promise<unknown>;
}

async function outcomeOf(exchange: Exchange, seed: number): Promise<ScriptOutcome> {
  const namespace = `seed-${seed}`;
  await makeNamespace(exchange, namespace);
  const paths = [configMaps, secrets, leases, widgets].map((kind) => collectionPath(kind, namespace));
  const starts = await Promise.all(paths.map((path) => listed(exchange, path)));
  const steps = await runScript(exchange, randomScript(seededRandom(seed), 60, namespace));
  const watchPaths = paths.map((path, index) => `${path}?watch=1&timeoutSeconds=1&resourceVersion=${starts[index]?.version}`);
  const ends = await Promise.all(paths.map((path) => listed(exchange, path)));
  return {
    steps: steps.map(({ title, status, body }) => ({ title, status, body })),
    ends: ends.map(({ items }) => items),
    watched: () => Promise.all(watchPaths.map(async (path) => watchOutcome((await exchange({ method: "GET", path })).body))),
  };
}

describe("the simulated API server answers as the real one", () => {
  test("to random sequences of writes, and shows the same collections and the same watch events", async () => {
    const watches: Promise<void>[] = [];
    await forEachSeed(40, async (seed) => {
      const simulated = await outcomeOf(onSimulated(), seed);
      const real = await outcomeOf(onReal, seed);
      expect(simulated.steps).toEqual(real.steps);
      expect(simulated.ends).toEqual(real.ends);
      // Many at once: each takes a second to end.
      watches.push((async () => expect(await simulated.watched(), `watch events of seed ${seed}`).toEqual(await real.watched()))());
    });
    await Promise.all(watches);
  });
});
