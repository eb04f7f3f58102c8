// The common job's surroundings: Secrets to work on, and an observer that says when a contestant has done what there is to do.
import { hash, randomBytes } from "node:crypto";
import {
  type Change,
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
import { collectServerGarbage } from "../measure/server-garbage.ts";
import { forEachIndex } from "../programs/for-each-index.ts";
import type { Bed } from "../scenario.ts";
import { clearNamespace } from "./cleared-namespace.ts";
import { jobMistakes } from "./job-mistakes.ts";
import { JobProgress } from "./job-progress.ts";

/** As sync-secrets: a chain of two certificates and a key. */
const certificateBytes = 3000;
const keyBytes = 1096;
/** Whole answers would cost the API server, and so the contestant, as much as some of its own requests. */
const briefly = { fieldManager: "bench", answer: "metadata" } as const;
let worlds = 0;

/** A namespace of Secrets, and what each should lead to. */
export interface JobWorld extends AsyncDisposable {
  readonly namespace: string;
  readonly progress: JobProgress;
  nameOf(index: number): string;
  /** Gives every Secret, or one, another certificate. */
  changeAll(): Promise<void>;
  changeOne(index: number): Promise<void>;
  /** Looks at every object on the API server and throws if one is not as the job wants it. */
  verify(): Promise<void>;
}

/** Makes a namespace with `count` Secrets, begins to observe, and leaves the API server without garbage. */
export async function createJobWorld({ cluster }: Bed, count: number): Promise<JobWorld> {
  const { client } = cluster;
  const namespace = `bench-job-${worlds++}`;
  const progress = new JobProgress();
  const nameOf = (index: number): string => `tls-${String(index).padStart(6, "0")}`;
  const certificate = (name: string): string => {
    const bytes = randomBytes(certificateBytes);
    progress.want(name, hash("sha256", bytes, "hex"));
    return bytes.toString("base64");
  };
  const changeOne = async (index: number): Promise<void> => {
    const name = nameOf(index);
    await client.mergePatch(Secret, { namespace, name }, { data: { "tls.crt": certificate(name) } }, briefly);
  };

  await client.create(Namespace, { metadata: { name: namespace } });
  await forEachIndex(count, async (index) => {
    const name = nameOf(index);
    const data = { "tls.crt": certificate(name), "tls.key": randomBytes(keyBytes).toString("base64") };
    await client.create(Secret, { metadata: { namespace, name, labels: { bench: "job" } }, type: "kubernetes.io/tls", data }, briefly);
  });
  const endObserver = await observe(cluster.adminKubeconfig, namespace, progress);
  await collectServerGarbage({ cluster });

  return {
    namespace,
    progress,
    nameOf,
    changeOne,
    changeAll: () => forEachIndex(count, changeOne),
    async verify() {
      const [secrets, configMaps] = [await client.list(Secret, { namespace }), await client.list(ConfigMap, { namespace, labels: "bench=job" })];
      const mistakes = jobMistakes(secrets.items, configMaps.items);
      if (secrets.items.length !== count) mistakes.push(`there are ${secrets.items.length} Secrets instead of ${count}`);
      if (mistakes.length > 0)
        throw new Error(`the job was not done: ${mistakes.slice(0, 5).join("; ")}${mistakes.length > 5 ? `; ${mistakes.length} in all` : ""}`);
    },
    async [Symbol.asyncDispose]() {
      endObserver();
      await clearNamespace(client, namespace, [ConfigMap, Secret]);
    },
  };
}

/** Follows what contestants publish and tell in the namespace, over a connection of its own. */
async function observe(kubeconfig: string, namespace: string, progress: JobProgress): Promise<() => void> {
  const stop = new AbortController();
  const transport = createHttpTransport(await loadConfig({ kubeconfig, env: {} }));
  const log = createLogger({ level: "error", destination: process.stderr });
  const caches = createCaches({ transport, clock: systemClock, random: systemRandom, log });
  const eachValue = (tell: (name: string, sha256: string | undefined) => void) => (change: Change<Seen>) => {
    if ("value" in change) tell(change.value.name, change.value.sha256);
  };
  const configMaps = caches.watch(ConfigMap, {
    namespace,
    labels: "bench=job",
    keep: ({ metadata, data }): Seen => ({ name: metadata.name, sha256: data?.["sha256"] }),
  });
  configMaps.subscribe(eachValue((name, sha256) => progress.published(name, sha256)));
  const secrets = caches.watch(Secret, {
    namespace,
    only: "metadata",
    keep: ({ metadata }): Seen => ({ name: metadata.name, sha256: metadata.annotations?.["bench/digest"] }),
  });
  secrets.subscribe(eachValue((name, sha256) => progress.told(name, sha256)));
  caches.start(stop.signal);
  await Promise.all([secrets.whenSynced(), configMaps.whenSynced()]);
  return () => {
    stop.abort();
    transport.close();
  };
}

interface Seen {
  readonly name: string;
  readonly sha256: string | undefined;
}
