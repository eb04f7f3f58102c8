// Any number of small clusters behind one address, each with one Secret to read, watch and write: no machine runs 2,000 API servers.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createAuthority, issueCertificate } from "@keyturn/runtime/testing";
import * as z from "zod";

/** The part of an API server that a runtime's cluster is asked for. */
export interface TargetClusters extends AsyncDisposable {
  /** The authority that vouches for them, PEM. */
  readonly authority: string;
  /** The kubeconfig of a cluster. */
  kubeconfig(cluster: string): string;
  /** How many clusters have their Secret. */
  readonly written: number;
  /** How many watches are open. */
  readonly watches: number;
}

type StoredSecret = Readonly<Record<string, unknown>> & { readonly metadata: Readonly<Record<string, unknown>> };

const secretSchema = z.looseObject({ metadata: z.looseObject({ name: z.string() }), data: z.record(z.string(), z.string()).optional() });

/** Starts them on 127.0.0.1. The clusters are named by the first part of the path, and exist as soon as they are asked for. */
export async function startTargetClusters(): Promise<TargetClusters> {
  const authority = createAuthority("target-clusters");
  const serving = issueCertificate(authority, { usage: "server", commonName: "target-clusters", hosts: ["127.0.0.1"] });
  const secrets = new Map<string, StoredSecret>();
  const watchers = new Map<string, Set<ServerResponse>>();
  let version = 1;
  let watches = 0;

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
    watches++;
    outgoing.once("close", () => {
      watches--;
      open.delete(outgoing);
    });
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
    authority: authority.certificate,
    kubeconfig: (cluster) => kubeconfigOf(`https://127.0.0.1:${port}/${cluster}`, authority.certificate, cluster),
    get written() {
      return secrets.size;
    },
    get watches() {
      return watches;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await Promise.resolve();
    },
  };
}

/** A kubeconfig of JSON, which is YAML too. */
export function kubeconfigOf(server: string, authority: string, token: string): string {
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
