// A tiny API server for tests of the state machine: a versioned history of objects that can be listed, watched and forgotten.

/** An object as the model server stores it; `value` is unique to each write. */
export interface ModelObject {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly value: string;
}

/** One entry of the history. */
interface ModelEvent {
  readonly type: "added" | "modified" | "deleted";
  readonly at: number;
  readonly object: ModelObject;
}

/** Remembers every state that ever was, so that a test can see what was invented. */
export class ModelServer {
  readonly objects = new Map<string, ModelObject>();
  readonly everStored = new Set<string>();
  #history: ModelEvent[] = [];
  #resourceVersion = 10;
  #oldest = 10;
  #writes = 0;
  /** Counts the restores. */
  epoch = 0;

  get resourceVersion(): number {
    return this.#resourceVersion;
  }

  /** Creates the object, or updates it if it exists. */
  put(key: string): void {
    const known = this.objects.get(key);
    const at = ++this.#resourceVersion;
    const write = ++this.#writes;
    const object = { key, uid: known?.uid ?? `uid-${write}`, resourceVersion: String(at), value: `${key} as of write ${write}` };
    this.objects.set(key, object);
    this.everStored.add(object.value);
    this.#history.push({ type: known ? "modified" : "added", at, object });
  }

  delete(key: string): void {
    const known = this.objects.get(key);
    if (!known) return;
    const at = ++this.#resourceVersion;
    this.objects.delete(key);
    this.#history.push({ type: "deleted", at, object: { ...known, resourceVersion: String(at) } });
  }

  /** Something that this watch does not cover was written. */
  tick(): void {
    this.#resourceVersion++;
  }

  /** Forgets the history so far: watches and pages from before get 410. */
  compact(): void {
    this.#oldest = this.#resourceVersion;
    this.#history = [];
  }

  remembers(resourceVersion: number): boolean {
    return resourceVersion >= this.#oldest;
  }

  /** The first event after `resourceVersion`. */
  eventAfter(resourceVersion: number): ModelEvent | undefined {
    return this.#history.find((event) => event.at > resourceVersion);
  }

  /** A restore from a backup: `objects` as they were, and resourceVersions that begin again below those already seen. */
  restore(objects: ReadonlyMap<string, ModelObject>, resourceVersion: number): void {
    this.epoch++;
    this.objects.clear();
    for (const [key, object] of objects) this.objects.set(key, object);
    this.#resourceVersion = resourceVersion;
    this.#oldest = resourceVersion;
    this.#history = [];
  }
}
