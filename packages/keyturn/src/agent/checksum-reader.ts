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

/** An object of which the read form is not the latest. */
interface Wanted {
  readonly name: string;
  readonly version: Version;
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
        if (!signal.aborted && this.#unread().length > 0) read();
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
    const { clock } = this.#source;
    for (let wanted = this.#unread(); wanted.length > 0 && !this.#signal.aborted; wanted = this.#unread()) {
      for (const each of wanted) {
        if (await this.#readOne(each)) continue;
        this.#onChange();
        await sleep(clock, retryMs, this.#signal).catch(() => undefined);
        // Until then other things may be wanted.
        break;
      }
    }
    if (this.#signal.aborted) return;
    const names = new Set(Array.from(this.#cache.entries(), ([key]) => nameOf(key).name));
    for (const name of this.#read.keys()) if (!names.has(name)) this.#read.delete(name);
    this.#isComplete = this.#cache.synced;
    this.#onChange();
  }

  /** False if it could not be read now. */
  async #readOne({ name, version }: Wanted): Promise<boolean> {
    const { client, namespace, observe } = this.#source;
    try {
      const object = await client.get(SecretCheckSum, { namespace, name }, this.#signal);
      this.#trouble = undefined;
      // If it is gone, the watch will say so.
      if (!object) return false;
      this.#read.set(name, { ...version, checksum: observe(object) });
      return true;
    } catch (error) {
      if (!this.#signal.aborted) this.#trouble = `SecretCheckSum ${name} cannot be read: ${messageOf(error)}`;
      return false;
    }
  }

  #unread(): readonly Wanted[] {
    const all = Array.from(this.#cache.entries(), ([key, version]) => ({ name: nameOf(key).name, version }));
    return all.filter(({ name, version }) => !this.#isRead(name, version));
  }

  /** A spec is read once. Of an announcement that is still to come, the status says when it is there. */
  #isRead(name: string, { uid, generation, resourceVersion }: Version): boolean {
    const known = this.#read.get(name);
    if (!known || known.uid !== uid || known.generation !== generation) return false;
    return known.checksum.announcedUntilMs === undefined || known.resourceVersion === resourceVersion;
  }
}
