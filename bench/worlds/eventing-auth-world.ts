// Kymas to issue credentials for: a tenant that takes its time, and a cluster for each Kyma.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type Client, Namespace, Secret } from "@keyturn/runtime";
import { createAuthority, issueCertificate } from "@keyturn/runtime/testing";
import * as z from "zod";
import { EventingAuth, Kyma } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { startIasStandIn } from "../../packages/keyturn/src/dev/stand-ins/ias.ts";
import type { MakeWorld } from "./controller-worlds.ts";
import { clearNamespace, forEachIndex } from "./seeding.ts";

/** How long the tenant takes for every answer. */
const tenantLatencyMs = 20;

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Starts tenant and clusters, and creates the Kymas. */
export const createEventingAuthWorld: MakeWorld = async ({ cluster: { client } }, { name: world, size }) => {
  await using stack = new AsyncDisposableStack();
  const tenant = stack.use(await startIasStandIn({ latencyMs: tenantLatencyMs }));
  const targets = stack.use(await startTargetClusters());
  const namespace = `bench-issue-${world}`;
  stack.defer(() => clear(client, namespace));
  await client.create(Namespace, { metadata: { name: namespace } });
  const credentials = { url: base64(tenant.url), username: base64(tenant.username), password: base64(tenant.password) };
  await client.create(Secret, { metadata: { namespace, name: "eventing-auth-ias-creds" }, data: credentials });
  await forEachIndex(size, async (index) => {
    const name = `runtime-${String(index).padStart(4, "0")}`;
    await client.create(Secret, { metadata: { namespace, name: `kubeconfig-${name}` }, data: { config: base64(targets.kubeconfig(name)) } });
    const kyma = { metadata: { namespace, name }, spec: { channel: "regular" } };
    await client.create(Kyma, kyma);
  });
  const owned = stack.move();
  return {
    namespace,
    flags: {
      "eventing-auth.credentials-namespace": namespace,
      "eventing-auth.kubeconfig-namespace": namespace,
      "eventing-auth.allow-http": "true",
    },
    wanted: size,
    asked: () => Object.values(tenant.counters.requests).reduce((sum, count) => sum + count, targets.written),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
};

/** Finalizers first: nobody is there any more to take them off. */
async function clear(client: Client, namespace: string): Promise<void> {
  const { items } = await client.list(EventingAuth, { namespace });
  await forEachIndex(items.length, async (index) => {
    const item = items[index];
    if (item) await client.mergePatch(EventingAuth, item.metadata, { metadata: { finalizers: null } });
  });
  await clearNamespace(client, namespace, [EventingAuth, Kyma, Secret]);
}

/** Any number of small clusters behind one address, each with one Secret to read, watch and write: no machine runs 500 API servers. */
interface TargetClusters extends AsyncDisposable {
  /** The kubeconfig of a cluster. */
  kubeconfig(cluster: string): string;
  /** How many clusters have their Secret. */
  readonly written: number;
}

type StoredSecret = Readonly<Record<string, unknown>> & { readonly metadata: Readonly<Record<string, unknown>> };

const secretSchema = z.looseObject({ metadata: z.looseObject({ name: z.string() }), data: z.record(z.string(), z.string()).optional() });

/** Starts them on 127.0.0.1. The clusters are named by the first part of the path, and exist as soon as they are asked for. */
async function startTargetClusters(): Promise<TargetClusters> {
  const authority = createAuthority("target-clusters");
  const serving = issueCertificate(authority, { usage: "server", commonName: "target-clusters", hosts: ["127.0.0.1"] });
  const secrets = new Map<string, StoredSecret>();
  const watchers = new Map<string, Set<ServerResponse>>();
  let version = 1;

  const store = (cluster: string, secret: z.infer<typeof secretSchema>, type: "ADDED" | "MODIFIED"): StoredSecret => {
    const uid = `uid-${cluster}`;
    const stored = {
      ...secret,
      metadata: { ...secret.metadata, uid, resourceVersion: String(++version), creationTimestamp: "2026-01-01T00:00:00Z" },
    };
    secrets.set(cluster, stored);
    for (const watcher of watchers.get(cluster) ?? []) watcher.write(`${JSON.stringify({ type, object: stored })}\n`);
    return stored;
  };

  function watch(cluster: string, outgoing: ServerResponse): void {
    const open = watchers.get(cluster) ?? new Set();
    watchers.set(cluster, open.add(outgoing));
    outgoing.once("close", () => open.delete(outgoing));
    outgoing.writeHead(200, { "content-type": "application/json" });
    const found = secrets.get(cluster);
    if (found) outgoing.write(`${JSON.stringify({ type: "ADDED", object: found })}\n`);
    const metadata = { resourceVersion: String(version), annotations: { "k8s.io/initial-events-end": "true" } };
    outgoing.write(`${JSON.stringify({ type: "BOOKMARK", object: { apiVersion: "v1", kind: "Secret", metadata } })}\n`);
  }

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? "/", "https://127.0.0.1");
    const cluster = url.pathname.split("/")[1] ?? "";
    if (url.searchParams.get("watch")) return watch(cluster, outgoing);
    const found = secrets.get(cluster);
    if (incoming.method === "GET")
      return found
        ? send(outgoing, 200, found)
        : send(outgoing, 404, { kind: "Status", reason: "NotFound", code: 404, details: { kind: "secrets", name: "x" } });
    const body = secretSchema.parse(JSON.parse(await text(incoming)));
    return send(outgoing, 201, store(cluster, body, found ? "MODIFIED" : "ADDED"));
  }

  const server = createServer({ cert: serving.certificate, key: serving.privateKey, keepAliveTimeout: 120_000 }, (incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    kubeconfig: (cluster) => kubeconfigOf(`https://127.0.0.1:${port}/${cluster}`, authority.certificate, cluster),
    get written() {
      return secrets.size;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await Promise.resolve();
    },
  };
}

/** A kubeconfig of JSON, which is YAML too. */
function kubeconfigOf(server: string, authority: string, token: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "target", cluster: { server, "certificate-authority-data": Buffer.from(authority).toString("base64") } }],
    users: [{ name: "target", user: { token } }],
    contexts: [{ name: "target", context: { cluster: "target", user: "target" } }],
    "current-context": "target",
  });
}

function send(outgoing: ServerResponse, status: number, body: object): void {
  outgoing.writeHead(status, { "content-type": "application/json" });
  outgoing.end(JSON.stringify({ apiVersion: "v1", ...body }));
}
