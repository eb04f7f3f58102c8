// Holds the simulated API server to the real one: the same random requests, step by step, must come to the same answers, objects, owners and watch events.
import { soon } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { fixedCredentials } from "../../src/client/auth/credentials.ts";
import { createHttpTransport } from "../../src/client/http/http-transport.ts";
import { apiVersionOf, collectionPath } from "../../src/client/kind.ts";
import type { Transport, TransportRequest } from "../../src/client/transport.ts";
import { seededRandom } from "../../src/random.ts";
import { startCluster } from "../../src/testing/index.ts";
import type { Cluster } from "../../src/testing/index.ts";
import { forEachSeed } from "../../src/testing/simulation/simulation.ts";
import { SimulatedApiServer } from "../../src/testing/simulation/simulated-api-server.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { comparable, type Exchange, runScript, watchOutcome } from "./differential-run.ts";
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

/** One of the two servers. */
interface Server {
  readonly exchange: Exchange;
  /** What a watch says, as it comes. */
  readonly watch: (path: string) => AsyncIterable<string>;
}

const onReal: Exchange = async (request) => {
  const response = await transport.send(request);
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return { status: response.status, body: Buffer.concat(chunks).toString() };
};

async function* watchOnReal(path: string): AsyncGenerator<string> {
  const { body } = await transport.send({ method: "GET", path, lane: "watch" });
  const decoder = new TextDecoder();
  for await (const chunk of body) yield decoder.decode(chunk, { stream: true });
}

const real: Server = { exchange: onReal, watch: watchOnReal };

function simulatedServer(): Server {
  const server = new SimulatedApiServer({ clock: new VirtualClock(), random: seededRandom(1) });
  server.serve(widgets);
  const handle = (request: TransportRequest) => {
    const answer = server.handle(request);
    return answer.type === "answer" ? answer : { status: 200, body: answer.session.read().lines.join("") };
  };
  return {
    exchange: async (request) => handle(request),
    async *watch(path) {
      yield handle({ method: "GET", path }).body;
    },
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
  /** Watches from before the script. */
  readonly watched: unknown;
}

/** Made in each collection after the script: with its event, a watch has said everything, however long a busy server takes. */
const last = "last";

async function outcomeOf({ exchange, watch }: Server, seed: number): Promise<ScriptOutcome> {
  const namespace = `seed-${seed}`;
  await makeNamespace(exchange, namespace);
  const kinds = [configMaps, secrets, leases, widgets];
  const paths = kinds.map((kind) => collectionPath(kind, namespace));
  const starts = await Promise.all(paths.map((path) => listed(exchange, path)));
  const steps = await runScript(exchange, randomScript(seededRandom(seed), 60, namespace));
  const ends = await Promise.all(paths.map((path) => listed(exchange, path)));
  for (const kind of kinds) {
    const body = JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name: last } });
    const path = collectionPath(kind, namespace);
    expect((await exchange({ method: "POST", path, headers: { "content-type": "application/json" }, body })).status).toBe(201);
  }
  return {
    steps: steps.map(({ title, status, body }) => ({ title, status, body })),
    ends: ends.map(({ items }) => items),
    watched: await Promise.all(paths.map((path, index) => untilLast(watch(`${path}?watch=1&resourceVersion=${starts[index]?.version}`)))),
  };
}

async function untilLast(pieces: AsyncIterable<string>): Promise<readonly unknown[]> {
  let said = "";
  for await (const piece of pieces) {
    said += piece;
    const end = said.indexOf(`"name":"${last}"`);
    if (end >= 0) return watchOutcome(said.slice(0, said.lastIndexOf("\n", end) + 1));
  }
  throw new Error(`the watch ended before its last event: ${said}`);
}

describe("the simulated API server answers as the real one", () => {
  test("to random sequences of writes, and shows the same collections and the same watch events", async () => {
    await forEachSeed(40, async (seed) => {
      const [simulated, stored] = [await outcomeOf(simulatedServer(), seed), await outcomeOf(real, seed)];
      expect(simulated.steps).toEqual(stored.steps);
      expect(simulated.ends).toEqual(stored.ends);
      expect(simulated.watched).toEqual(stored.watched);
    });
  });
});
