// The common job's surroundings: Secrets to work on, an observer that says when a contestant has done what there is to do, and a look at every object afterwards.
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
  type Stored,
  systemClock,
  systemRandom,
} from "@keyturn/runtime";
import { collectServerGarbage } from "../measure/control-plane.ts";
import type { Bed } from "../scenario.ts";
import { clearNamespace, forEachIndex } from "./seeding.ts";

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

/** How far the job is: which digests are wanted, which are published and told, and who waits for that. Follows the objects of one world by their names. */
export class JobProgress {
  readonly #wanted = new Map<string, string>();
  readonly #published = new Map<string, string | undefined>();
  readonly #told = new Map<string, string | undefined>();
  readonly #open = new Set<string>();
  readonly #whenDone = new Set<() => void>();
  readonly #whenPublished = new Map<string, () => void>();

  /** How many objects are not as they should be. */
  get undone(): number {
    return this.#open.size;
  }

  /** The digest that an object should lead to. */
  wanted(name: string): string | undefined {
    return this.#wanted.get(name);
  }

  /** From now on the object should lead to this digest. */
  want(name: string, sha256: string): void {
    this.#wanted.set(name, sha256);
    this.#look(name);
  }

  /** Its ConfigMap says this. */
  published(name: string, sha256: string | undefined): void {
    this.#published.set(name, sha256);
    this.#look(name);
  }

  /** Its annotation says this. */
  told(name: string, sha256: string | undefined): void {
    this.#told.set(name, sha256);
    this.#look(name);
  }

  /** Resolves when every object is as it should be; rejects after `timeoutMs`. */
  async whenDone(timeoutMs: number): Promise<void> {
    if (await this.isDoneWithin(timeoutMs)) return;
    throw new Error(`${this.#open.size} of ${this.#wanted.size} objects are not done after ${timeoutMs} ms`);
  }

  /** Resolves to true when every object is as it should be, and to false after `timeoutMs`. */
  async isDoneWithin(timeoutMs: number): Promise<boolean> {
    if (this.#open.size === 0) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const isDone = (): void => resolve(true);
    const timer = setTimeout(() => resolve(false), timeoutMs);
    this.#whenDone.add(isDone);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#whenDone.delete(isDone);
    }
  }

  /** Resolves when the object's ConfigMap says what is wanted, to the time on `performance.now`; rejects after `timeoutMs`. One may wait at a time. */
  async whenPublished(name: string, timeoutMs: number): Promise<number> {
    if (this.#isPublished(name)) return performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const timer = setTimeout(() => reject(new Error(`the change of ${name} had no effect after ${timeoutMs} ms`)), timeoutMs);
    this.#whenPublished.set(name, () => resolve(performance.now()));
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #isPublished(name: string): boolean {
    return this.#published.get(name) === this.#wanted.get(name);
  }

  #look(name: string): void {
    if (this.#isPublished(name)) {
      this.#whenPublished.get(name)?.();
      this.#whenPublished.delete(name);
    }
    if (this.#isPublished(name) && this.#told.get(name) === this.#wanted.get(name)) this.#open.delete(name);
    else this.#open.add(name);
    if (this.#open.size > 0) return;
    for (const resolve of this.#whenDone) resolve();
  }
}

/** A sentence for each thing that is wrong: every Secret must have its ConfigMap, owned by it and with nothing but its certificate's digest, and say so. */
export function jobMistakes(secrets: readonly Stored<Secret>[], configMaps: readonly Stored<ConfigMap>[]): string[] {
  const byName = new Map(configMaps.map((configMap) => [configMap.metadata.name, configMap]));
  const mistakes = secrets.flatMap((secret) => {
    const { name, uid, annotations } = secret.metadata;
    const sha256 = hash("sha256", Buffer.from(secret.data?.["tls.crt"] ?? "", "base64"), "hex");
    const configMap = byName.get(name);
    byName.delete(name);
    if (!configMap) return [`${name} has no ConfigMap`];
    const owner = configMap.metadata.ownerReferences?.[0];
    return [
      ...(JSON.stringify(configMap.data) === JSON.stringify({ sha256 })
        ? []
        : [`the ConfigMap of ${name} does not hold the digest, or more than that`]),
      ...(owner?.uid === uid && owner.controller === true ? [] : [`the ConfigMap of ${name} is not owned by its Secret`]),
      ...(annotations?.["bench/digest"] === sha256 ? [] : [`${name} does not say what was published`]),
    ];
  });
  return [...mistakes, ...[...byName.keys()].map((name) => `there is a ConfigMap ${name} without a Secret`)];
}
