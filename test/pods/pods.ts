// A cluster whose pods really run, for the tests of this folder, and what they ask of it.
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHttpTransport, loadConfig, Pod, type Stored } from "@keyturn/runtime";
import { type Cluster, type ClusterAccess, clusterFilesIn, forwardTo, openWatch, realPods, startCluster } from "@keyturn/runtime/testing";
import { soon } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, expect } from "vitest";
import * as z from "zod";
import { release } from "../install/installed-chart.ts";
import { keyturnImage, packImages } from "./images.ts";

/** What a pod has to have to be admitted where the level is restricted. */
export const restricted = {
  pod: { runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, seccompProfile: { type: "RuntimeDefault" } },
  container: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
} as const;

const enforced = { "pod-security.kubernetes.io/enforce": "restricted" } as const;

/** Where pods find an istiod of this machine, at the API server's address. */
export const istiodPort = 15017;

/** Call in a file: a cluster with a real node, the images, and the chart's namespace, in which nothing but restricted pods is admitted. */
export function usePods(): () => Cluster {
  let cluster: Cluster | undefined;
  beforeAll(async () => {
    await using images = await packedImages();
    cluster = await startCluster({ ...realPods, images: images.paths, hostPorts: [istiodPort] });
    await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: release.namespace, labels: enforced } });
  });
  afterAll(async () => cluster?.stop());
  return () => {
    if (!cluster) throw new Error("using the cluster before it is there");
    return cluster;
  };
}

/** A namespace of the restricted level. */
export function restrictedNamespace(cluster: ClusterAccess, prefix: string, labels: Readonly<Record<string, string>> = {}): Promise<string> {
  return cluster.namespace(prefix, { ...enforced, ...labels });
}

const objectSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string(), uid: z.string() }),
  spec: z.looseObject({}).optional(),
  status: z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) }).default({ conditions: [] }),
});

/** Any object, by its path. */
export async function read(cluster: ClusterAccess, path: string): Promise<z.infer<typeof objectSchema>> {
  return objectSchema.parse(await cluster.client.request({ method: "GET", path }));
}

/** Resolves when the object's condition has this status. */
export async function condition(cluster: ClusterAccess, path: string, type: string, status = "True"): Promise<void> {
  await soon(async () => expect((await read(cluster, path)).status.conditions).toContainEqual(expect.objectContaining({ type, status })));
}

/** The pods of a namespace with these labels that are not going. */
export async function podsOf(cluster: ClusterAccess, namespace: string, labels: string): Promise<readonly Stored<Pod>[]> {
  const { items } = await cluster.client.list(Pod, { namespace, labels });
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** The operator's pods. */
export const operatorPods = (cluster: ClusterAccess): Promise<readonly Stored<Pod>[]> =>
  podsOf(cluster, release.namespace, "app.kubernetes.io/component=operator");

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

/** Runs a piece of JavaScript in a container of the product's image and resolves to what it printed. */
export function evaluateIn(cluster: ClusterAccess, pod: { readonly namespace?: string; readonly name?: string }, code: string): Promise<string> {
  return cluster.kubectl("exec", `--namespace=${pod.namespace}`, pod.name ?? "", "--", "/nodejs/bin/node", "-e", code);
}

/** The processes of a pod, as this machine counts them. The pause container's is not one. */
export function processesOf(uid: string): readonly number[] {
  const read = (pid: string, file: string): string => {
    try {
      return readFileSync(join("/proc", pid, file), "utf8");
    } catch {
      // It ended meanwhile.
      return "";
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && read(name, "cgroup").includes(`/pod${uid}/`) && !read(name, "cmdline").startsWith("/bin/busybox"))
    .map(Number);
}

const serviceSchema = z.object({ spec: z.object({ clusterIP: z.string(), ports: z.array(z.object({ port: z.number() })) }) });

/** Fetches from an address in the node's network. */
export async function fetchWithin(cluster: ClusterAccess, address: string, path: string): Promise<Response> {
  await using forward = await forwardTo(clusterFilesIn(cluster.folder), address);
  // A Service without pods may take its time to refuse.
  const signal = AbortSignal.timeout(10_000);
  const response = await fetch(`http://127.0.0.1:${forward.port}${path}`, { headers: { connection: "close" }, signal });
  return new Response(await response.arrayBuffer(), { status: response.status, headers: response.headers });
}

/** Fetches through a Service, as a pod would. */
export async function fetchService(
  cluster: ClusterAccess,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  path: string,
): Promise<Response> {
  const { spec } = serviceSchema.parse(await cluster.client.request({ method: "GET", path: `/api/v1/namespaces/${namespace}/services/${name}` }));
  return fetchWithin(cluster, `${spec.clusterIP}:${spec.ports[0]?.port}`, path);
}

/** What a client in a pod has seen. */
const seenSchema = z.object({ answers: z.number(), failures: z.array(z.string()), seen: z.array(z.string()) });

/** A client in a pod of its own, which asks again and again until it is told to stop. */
export class PodClient {
  readonly #cluster: ClusterAccess;
  readonly #name: { readonly namespace: string; readonly name: string };

  private constructor(cluster: ClusterAccess, name: { readonly namespace: string; readonly name: string }) {
    this.#cluster = cluster;
    this.#name = name;
  }

  /** Starts it. `ask` is the body of an async function that returns what it has seen, and throws if the answer was not as it should be. */
  static async start(cluster: ClusterAccess, name: { readonly namespace: string; readonly name: string }, ask: string): Promise<PodClient> {
    const script = `
      const state = { answers: 0, failures: [], seen: new Set() };
      const ask = async () => { ${ask} };
      const again = async () => { for (;;) {
        try { state.seen.add(await ask()); state.answers++; } catch (error) { state.failures.push(new Date().toISOString() + " " + (error.cause ?? error)); }
        await new Promise((resolve) => setTimeout(resolve, 10));
      } };
      again(); again();
      require("node:http").createServer((_, response) => response.end(JSON.stringify({ ...state, seen: [...state.seen] }))).listen(8000);`;
    const container = { name: "client", image: keyturnImage, command: ["/nodejs/bin/node", "-e", script], securityContext: restricted.container };
    const spec = { terminationGracePeriodSeconds: 0, automountServiceAccountToken: false, securityContext: restricted.pod, containers: [container] };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: name, spec };
    await cluster.apply(pod);
    const client = new PodClient(cluster, name);
    await client.answersMore(1);
    return client;
  }

  report(): Promise<z.infer<typeof seenSchema>> {
    return soon(async () => {
      const pod = await this.#cluster.client.get(Pod, this.#name);
      return seenSchema.parse(await (await fetchWithin(this.#cluster, `${pod?.status?.podIP}:8000`, "/")).json());
    });
  }

  /** Resolves when so many answers more have come. */
  async answersMore(count: number): Promise<void> {
    const before = await this.report();
    await soon(async () => expect((await this.report()).answers).toBeGreaterThanOrEqual(before.answers + count));
  }
}

const leaseSchema = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({ holderIdentity: z.string().default(""), acquireTime: z.string().optional(), renewTime: z.string().optional() }),
});
const leasesPath = `/apis/coordination.k8s.io/v1/namespaces/${release.namespace}/leases`;

/** The Leases of the chart's namespace. */
export async function leasesOf(cluster: ClusterAccess): Promise<readonly z.infer<typeof leaseSchema>[]> {
  return z.object({ items: z.array(leaseSchema) }).parse(await cluster.client.request({ method: "GET", path: leasesPath })).items;
}

/** How a Lease went from hand to hand. */
interface Handovers {
  readonly count: number;
  /** Those whose holder did not give it back: the next one waited until it had run out. */
  readonly withoutFarewell: number;
}

/** Follows every change of the Leases; `end` says how each went from hand to hand since. */
export async function watchLeadership(cluster: ClusterAccess): Promise<{ end(): Promise<ReadonlyMap<string, Handovers>> }> {
  const transport = createHttpTransport(await loadConfig({ kubeconfig: cluster.adminKubeconfig, env: {} }));
  const { lines } = await openWatch(transport, `${leasesPath}?watch=true`);
  return {
    async end() {
      // What a list shows a watch shows a moment later.
      await soon(async () => {
        const heard = new Map(lines.map(({ object }) => leaseSchema.parse(object)).map(({ metadata, spec }) => [metadata.name, spec.holderIdentity]));
        for (const { metadata, spec } of await leasesOf(cluster)) expect(heard.get(metadata.name)).toBe(spec.holderIdentity);
      });
      transport.close();
      const leases = lines.map(({ object }) => leaseSchema.parse(object));
      return new Map(
        Array.from(
          Map.groupBy(leases, ({ metadata }) => metadata.name),
          ([name, versions]) => [name, handoversIn(versions)],
        ),
      );
    },
  };
}

function handoversIn(versions: readonly z.infer<typeof leaseSchema>[]): Handovers {
  const taken = versions.flatMap(({ spec }, index) => {
    const before = versions[index - 1]?.spec;
    if (before === undefined || spec.holderIdentity === "" || spec.holderIdentity === before.holderIdentity) return [];
    return [before.holderIdentity === "" ? "given back" : "run out"];
  });
  return {
    count: taken.length,
    withoutFarewell: taken.filter((how) => how === "run out").length,
  };
}

async function packedImages(): Promise<AsyncDisposable & { readonly paths: readonly string[] }> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-images-"));
  return { paths: await packImages(folder), [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
