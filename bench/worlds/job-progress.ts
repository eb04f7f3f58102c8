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
    if (this.#open.size === 0) return;
    let resolve = (): void => {};
    const done = new Promise<void>((resolved) => (resolve = resolved));
    this.#whenDone.add(resolve);
    try {
      await inTime(done, timeoutMs, () => `${this.#open.size} of ${this.#wanted.size} objects are not done after ${timeoutMs} ms`);
    } finally {
      this.#whenDone.delete(resolve);
    }
  }

  /** Resolves when the object's ConfigMap says what is wanted, to the time on `performance.now`; rejects after `timeoutMs`. One may wait at a time. */
  async whenPublished(name: string, timeoutMs: number): Promise<number> {
    if (this.#isPublished(name)) return performance.now();
    const published = new Promise<number>((resolve) => this.#whenPublished.set(name, () => resolve(performance.now())));
    return await inTime(published, timeoutMs, () => `the change of ${name} had no effect after ${timeoutMs} ms`);
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

async function inTime<T>(work: Promise<T>, timeoutMs: number, message: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(new Error(message())), timeoutMs)));
  try {
    return await Promise.race([work, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
