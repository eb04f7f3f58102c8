// The common job's surroundings: Secrets to work on, and an observer that says when a contestant has done what there is to do.
import { hash, randomBytes } from "node:crypto";
import {
  type Change,
  type Client,
  collectionPath,
  ConfigMap,
  createCaches,
  createHttpTransport,
  createLogger,
  loadConfig,
  Namespace,
  Secret,
  systemClock,
  systemRandom,
} from "@keyturn/runtime";
import { forEachIndex } from "../programs/for-each-index.ts";
import type { Bed } from "../scenario.ts";

/** As sync-secrets: a chain of two certificates and a key. */
const certificateBytes = 3000;
const keyBytes = 1096;
let worlds = 0;

/** A namespace of Secrets, and what each should lead to. */
export interface JobWorld extends AsyncDisposable {
  readonly namespace: string;
  /** Gives every Secret, or one, another certificate. */
  changeAll(): Promise<void>;
  changeOne(index: number): Promise<void>;
  /** Resolves when every ConfigMap and annotation is as the Secrets say. */
  whenConverged(timeoutMs: number): Promise<void>;
}

/** Makes a namespace with `count` Secrets and begins to observe. */
export async function createJobWorld({ cluster }: Bed, count: number): Promise<JobWorld> {
  const { client } = cluster;
  const namespace = `bench-job-${worlds++}`;
  const wanted = new Map<string, string>();
  const published = new Map<string, string | undefined>();
  const told = new Map<string, string | undefined>();
  const waiting = new Set<() => void>();
  const open = new Set<string>();

  const nameOf = (index: number): string => `tls-${String(index).padStart(6, "0")}`;
  const look = (name: string): void => {
    const sha256 = wanted.get(name);
    if (published.get(name) === sha256 && told.get(name) === sha256) open.delete(name);
    else open.add(name);
    if (open.size > 0) return;
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  const certificate = (name: string): string => {
    const bytes = randomBytes(certificateBytes);
    wanted.set(name, hash("sha256", bytes, "hex"));
    open.add(name);
    return bytes.toString("base64");
  };
  const changeOne = async (index: number): Promise<void> => {
    const name = nameOf(index);
    await client.mergePatch(Secret, { namespace, name }, { data: { "tls.crt": certificate(name) } }, { fieldManager: "bench" });
  };

  await client.create(Namespace, { metadata: { name: namespace } });
  await forEachIndex(count, async (index) => {
    const name = nameOf(index);
    const data = { "tls.crt": certificate(name), "tls.key": randomBytes(keyBytes).toString("base64") };
    await client.create(
      Secret,
      { metadata: { namespace, name, labels: { bench: "job" } }, type: "kubernetes.io/tls", data },
      { fieldManager: "bench" },
    );
  });

  const stop = new AbortController();
  const transport = createHttpTransport(await loadConfig({ kubeconfig: cluster.adminKubeconfig, env: {} }));
  const caches = createCaches({ transport, clock: systemClock, random: systemRandom, log: createLogger({ destination: process.stderr }) });
  const follow = (into: Map<string, string | undefined>) => (change: Change<{ readonly name: string; readonly sha256: string | undefined }>) => {
    if (!("value" in change)) return;
    into.set(change.value.name, change.value.sha256);
    look(change.value.name);
  };
  caches
    .watch(ConfigMap, { namespace, labels: "bench=job", keep: ({ metadata, data }) => ({ name: metadata.name, sha256: data?.["sha256"] }) })
    .subscribe(follow(published));
  const secrets = caches.watch(Secret, {
    namespace,
    only: "metadata",
    keep: ({ metadata }) => ({ name: metadata.name, sha256: metadata.annotations?.["bench/digest"] }),
  });
  secrets.subscribe(follow(told));
  caches.start(stop.signal);
  await secrets.whenSynced();

  return {
    namespace,
    changeOne,
    changeAll: () => forEachIndex(count, changeOne),
    async whenConverged(timeoutMs) {
      if (open.size === 0) return;
      const timeout = AbortSignal.timeout(timeoutMs);
      await new Promise<void>((resolve, reject) => {
        waiting.add(resolve);
        timeout.addEventListener("abort", () => reject(new Error(`${open.size} of ${count} objects are not done after ${timeoutMs} ms`)));
      });
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      transport.close();
      await removeAll(client, namespace);
    },
  };
}

async function removeAll(client: Client, namespace: string): Promise<void> {
  for (const kind of [ConfigMap, Secret]) await client.request({ method: "DELETE", path: collectionPath(kind, namespace), timeoutMs: 120_000 });
}
