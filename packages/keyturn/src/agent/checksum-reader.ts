// Checksums as an agent reads them: their metadata is watched, and each object is read once. Its ids can be 1.4 MB, which the API server would otherwise send
// to every agent each time the operator writes a status.
import { type Cache, type Caches, type Client, type Clock, messageOf, nameOf, sleep } from "@keyturn/runtime";
import { SecretCheckSum } from "../controllers/checksum/api.ts";
import type { ObservedChecksum } from "../controllers/checksum/difference.ts";

/** What checksums are read from. */
interface ChecksumSource {
  readonly caches: Caches;
  readonly client: Client;
  readonly clock: Clock;
  readonly namespace: string;
  /** What is kept of an object. */
  readonly observe: (object: NonNullable<Awaited<ReturnType<Client["get"]>>> & { readonly spec: SecretCheckSum["spec"] }) => ObservedChecksum;
}

/** What says whether an object has to be read again. */
interface Version {
  readonly uid: string;
  /** Of the spec. A status does not change it. */
  readonly generation: number;
  readonly resourceVersion: string;
}

interface Read extends Version {
  readonly checksum: ObservedChecksum;
}

const retryMs = 1000;

/** The checksums of a namespace. */
export class ChecksumReader {
  readonly #source: ChecksumSource;
  readonly #cache: Cache<Version>;
  readonly #onChange: () => void;
  readonly #signal: AbortSignal;
  readonly #read = new Map<string, Read>();
  #isReading = false;
  #isComplete = false;
  #trouble: string | undefined;

  /** Reads from now on, until the signal aborts; `onChange` is called after every change. */
  constructor(source: ChecksumSource, onChange: () => void, signal: AbortSignal) {
    this.#source = source;
    this.#onChange = onChange;
    this.#signal = signal;
    this.#cache = source.caches.watch(SecretCheckSum, {
      only: "metadata",
      namespace: source.namespace,
      keep: ({ metadata: { uid, generation = 0, resourceVersion } }) => ({ uid, generation, resourceVersion }),
    });
    const read = (): void => {
      if (this.#isReading) return;
      this.#isReading = true;
      void this.#readAll().finally(() => {
        this.#isReading = false;
        // What has come since it was last looked.
        if (!signal.aborted && this.#unread()) read();
      });
    };
    this.#cache.subscribe(read);
    void this.#cache.whenSynced().then(read);
  }

  /** What there is; `unknown` until everything was read once; `missing` if the kind is not served. */
  now(): readonly ObservedChecksum[] | "unknown" | "missing" {
    if (this.#source.caches.statusOf(this.#cache).state.type === "missing") return "missing";
    if (!this.#cache.synced || !this.#isComplete) return "unknown";
    return Array.from(this.#cache.entries(), ([key]) => this.#read.get(nameOf(key).name)?.checksum ?? []).flat();
  }

  /** The watch behind it. */
  get cache(): Cache<unknown> {
    return this.#cache;
  }

  /** Why something cannot be read at present; undefined if nothing hinders it. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  async #readAll(): Promise<void> {
    const { client, clock, namespace, observe } = this.#source;
    while (!this.#signal.aborted) {
      const wanted = this.#unread();
      if (!wanted) break;
      try {
        const object = await client.get(SecretCheckSum, { namespace, name: wanted.name }, this.#signal);
        this.#trouble = undefined;
        if (object) this.#read.set(wanted.name, { ...wanted.version, checksum: observe(object) });
        // It is gone, and the watch will say so.
        else await sleep(clock, retryMs, this.#signal);
      } catch (error) {
        if (this.#signal.aborted) return;
        this.#trouble = `SecretCheckSum ${wanted.name} cannot be read: ${messageOf(error)}`;
        this.#onChange();
        await sleep(clock, retryMs, this.#signal).catch(() => undefined);
      }
    }
    for (const name of this.#read.keys()) if (![...this.#cache.entries()].some(([key]) => nameOf(key).name === name)) this.#read.delete(name);
    this.#isComplete = this.#cache.synced;
    this.#onChange();
  }

  #unread(): { readonly name: string; readonly version: Version } | undefined {
    const all = Array.from(this.#cache.entries(), ([key, version]) => ({ name: nameOf(key).name, version }));
    return all.find(({ name, version }) => !this.#isRead(name, version));
  }

  /** A spec is read once. Of an announcement that is still to come, the status says when it is there. */
  #isRead(name: string, { uid, generation, resourceVersion }: Version): boolean {
    const known = this.#read.get(name);
    if (!known || known.uid !== uid || known.generation !== generation) return false;
    return known.checksum.announcedUntilMs === undefined || known.resourceVersion === resourceVersion;
  }
}
