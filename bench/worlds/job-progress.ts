// How far the common job is: which digests are wanted, which are published and told, and who waits for that.

/** Follows the objects of one world by their names. */
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
