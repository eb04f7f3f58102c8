// How many requests may be under way at once, over all tenants of the process. First come, first served.

/** SAP allows 50 concurrent requests per originating address; every replica has its own. */
const defaultMostRequests = 50;

/** A place among the requests under way. Giving it back twice does nothing. */
export type Release = () => void;

interface Waiting {
  readonly enter: (release: Release) => void;
}

/** A fair semaphore: whoever waits longest is next, and who stops waiting leaves no gap. */
export class RequestSlots {
  readonly #most: number;
  readonly #queue = new Set<Waiting>();
  #taken = 0;

  constructor(most: number = defaultMostRequests) {
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
