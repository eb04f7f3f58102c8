// How much may be under way at once; the rest waits. First come, first served.

/** A place among what is under way. Giving it back twice does nothing. */
export type Release = () => void;

interface Waiting {
  readonly enter: (release: Release) => void;
}

/** A fair semaphore: whoever waits longest is next, and who stops waiting leaves no gap. */
export class Semaphore {
  readonly #most: number;
  readonly #queue = new Set<Waiting>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** How many are under way. */
  get taken(): number {
    return this.#taken;
  }

  /** Resolves when there is a place. Rejects with the signal's reason if that comes first. */
  acquire(signal?: AbortSignal): Promise<Release> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (this.#taken < this.#most) return resolve(this.#take());
      const onAbort = (): void => {
        this.#queue.delete(waiting);
        reject(signal?.reason);
      };
      const waiting: Waiting = {
        enter: (release) => {
          signal?.removeEventListener("abort", onAbort);
          resolve(release);
        },
      };
      this.#queue.add(waiting);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Does the work when it is its turn. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.acquire(signal);
    try {
      return await work();
    } finally {
      release();
    }
  }

  #take(): Release {
    this.#taken++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#taken--;
      const [next] = this.#queue;
      if (!next) return;
      this.#queue.delete(next);
      next.enter(this.#take());
    };
  }
}

/**
 * Calls `work` for each item, at most `width` at a time, and resolves when all are done. The first failure keeps the others from being begun;
 * it is what the promise rejects with, once nothing is under way any more, so that the caller can clean up.
 */
export async function forEachParallel<T>(items: Iterable<T> | AsyncIterable<T>, width: number, work: (item: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  const underWay = new Set<Promise<void>>();
  try {
    for await (const item of items) {
      if (failures.length > 0) break;
      const piece = work(item)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => underWay.delete(piece));
      underWay.add(piece);
      if (underWay.size >= width) await Promise.race(underWay);
    }
  } finally {
    await Promise.all(underWay);
  }
  if (failures.length > 0) throw failures[0];
}
