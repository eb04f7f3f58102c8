// Kymas to issue credentials for: a tenant that takes its time, a cluster for each Kyma, and addresses behind which there is none.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { type Client, Namespace, Secret } from "@keyturn/runtime";
import { EventingAuth, Kyma } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { startIasStandIn } from "../../packages/keyturn/src/dev/stand-ins/ias.ts";
import { forEachIndex } from "../programs/for-each-index.ts";
import type { Bed } from "../scenario.ts";
import { clearNamespace } from "./cleared-namespace.ts";
import type { ControllerWorld } from "./controller-world.ts";
import { kubeconfigOf, startTargetClusters } from "./target-clusters.ts";

/** How long the tenant takes for every answer. */
export const tenantLatencyMs = 20;

/** A runtime and how its cluster is reached. */
interface Runtime {
  readonly name: string;
  readonly kubeconfig: string;
}

/** What to make. */
export interface IssueWorldOptions {
  readonly name: string;
  readonly size: number;
  /** One in twenty clusters cannot be reached: every other one of those hangs. */
  readonly deadEnds: boolean;
  /** Without Kymas: for a program that knows beforehand what to do. */
  readonly kymas: boolean;
}

/** Kymas, the tenant's credentials, and the names of the runtimes whose clusters answer. */
export interface IssueWorld extends ControllerWorld {
  readonly namespace: string;
  /** Where the kubeconfigs are. */
  readonly system: string;
  readonly credentials: Readonly<Record<string, string>>;
  readonly reachable: readonly string[];
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Starts tenant and clusters, and creates the Kymas. */
export async function createIssueWorld({ cluster: { client } }: Bed, { name, size, deadEnds, kymas }: IssueWorldOptions): Promise<IssueWorld> {
  await using stack = new AsyncDisposableStack();
  const tenant = stack.use(await startIasStandIn({ latencyMs: tenantLatencyMs }));
  const targets = stack.use(await startTargetClusters());
  const dead = stack.use(await startDeadEnds());
  const isDead = (index: number): boolean => deadEnds && index % 20 === 0;
  const runtimes = Array.from({ length: size }, (_, index): Runtime => {
    const runtime = `runtime-${String(index).padStart(4, "0")}`;
    const deadEnd = index % 40 === 0 ? dead.hanging : dead.refusing;
    return { name: runtime, kubeconfig: isDead(index) ? kubeconfigOf(deadEnd, targets.authority, runtime) : targets.kubeconfig(runtime) };
  });
  const reachable = runtimes.filter((_, index) => !isDead(index)).map(({ name: runtime }) => runtime);
  const credentials = { url: base64(tenant.url), username: base64(tenant.username), password: base64(tenant.password) };
  // EventingAuths count where the kubeconfigs are.
  const place = { namespace: `bench-issue-${name}`, system: `bench-issue-${name}` };
  stack.defer(() => clear(client, place));
  await client.create(Namespace, { metadata: { name: place.namespace } });
  await seed(client, place, { runtimes, credentials, kymas });
  const owned = stack.move();
  return {
    namespace: place.namespace,
    system: place.system,
    namespaces: [place.namespace],
    flags: {
      "eventing-auth.credentials-namespace": place.system,
      "eventing-auth.kubeconfig-namespace": place.system,
      "eventing-auth.allow-http": "true",
    },
    args: [place.namespace, place.system, String(reachable.length)],
    asked: () => Object.values(tenant.counters.requests).reduce((sum, count) => sum + count, targets.written),
    credentials,
    reachable,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface Place {
  readonly namespace: string;
  readonly system: string;
}

/** Addresses behind which there is no cluster: one that refuses connections, and one that takes them and says nothing. */
async function startDeadEnds(): Promise<AsyncDisposable & { readonly hanging: string; readonly refusing: string }> {
  const server = createServer((socket) => socket.on("error", () => socket.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    hanging: `https://127.0.0.1:${port}`,
    refusing: "https://127.0.0.1:1",
    async [Symbol.asyncDispose]() {
      server.close();
      await Promise.resolve();
    },
  };
}

async function seed(
  client: Client,
  { namespace, system }: Place,
  {
    runtimes,
    credentials,
    kymas,
  }: { readonly runtimes: readonly Runtime[]; readonly credentials: Readonly<Record<string, string>>; readonly kymas: boolean },
): Promise<void> {
  await client.create(Secret, { metadata: { namespace: system, name: "eventing-auth-ias-creds" }, data: credentials });
  await forEachIndex(runtimes.length, async (index) => {
    const { name = "", kubeconfig = "" } = runtimes[index] ?? {};
    await client.create(Secret, { metadata: { namespace: system, name: `kubeconfig-${name}` }, data: { config: base64(kubeconfig) } });
    const kyma = { metadata: { namespace, name }, spec: { channel: "regular" } };
    if (kymas) await client.create(Kyma, kyma);
  });
}

/** Finalizers first: nobody is there any more to take them off. */
async function clear(client: Client, { namespace, system }: Place): Promise<void> {
  const { items } = await client.list(EventingAuth, { namespace });
  await forEachIndex(items.length, async (index) => {
    const item = items[index];
    if (item) await client.mergePatch(EventingAuth, item.metadata, { metadata: { finalizers: null } });
  });
  await Promise.all([clearNamespace(client, namespace, [EventingAuth, Kyma]), clearNamespace(client, system, [Secret])]);
}
