// Caches that are filled by one list each and never change: for answering a question about a cluster once, with the same code that follows it.
import { isApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import { type Kind, keyOfObject } from "../client/kind.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { AnyWatchOptions, Cache, Watch } from "./cache.ts";
import { UnreadableError } from "../controller/failure.ts";
import { readable } from "./caches.ts";
import { StoreCache } from "./derived-caches.ts";
import { Store, UnreadableValue } from "./store.ts";

/** Where the lists come from. */
export interface ListedCachesOptions {
  readonly client: Client;
  /** Limits caches that are of all namespaces to this one. Default: all. */
  readonly namespace?: string | undefined;
  readonly clock?: Clock;
}

/** Declared like watches, and empty until they are filled. */
export class ListedCaches {
  readonly #options: ListedCachesOptions;
  readonly #fills: ((signal: AbortSignal) => Promise<void>)[] = [];

  constructor(options: ListedCachesOptions) {
    this.#options = options;
  }

  // What is kept is known to the one who asks.
  readonly watch: Watch = ((kind: Kind, options?: AnyWatchOptions) => this.#watch(kind, options)) as Watch;

  #watch(kind: Kind, options: AnyWatchOptions = {}): Cache<unknown> {
    const { keep, only: sent = "whole", indexes = {}, unreadable = "absent", optional = false, namespace, labels, fields } = options;
    const { client, namespace: only, clock = systemClock } = this.#options;
    const selection = {
      ...(namespace !== undefined && { namespace }),
      ...(labels !== undefined && { labels }),
      ...(fields !== undefined && { fields }),
    };
    const store = new Store<unknown>({
      clock,
      // Whoever asks once gets the whole answer or none; and hears which object stands in the way.
      onFault: ({ key, error }) => {
        throw error instanceof UnreadableValue ? new UnreadableError(kind, key, error.error) : error;
      },
    });
    const read = readable(keep);
    this.#fills.push(async (signal) => {
      const where = { ...(kind.namespaced && only !== undefined && { namespace: only }), ...selection };
      const { items } = await client.list(kind, where, signal).catch((error: unknown) => {
        // Of an optional kind that is not served there is nothing.
        if (optional && isApiError(error, "NotFound")) return { items: [] };
        throw error;
      });
      await store.take({ type: "init" });
      for (const item of items) {
        const { uid, resourceVersion } = item.metadata;
        await store.take({ type: "initApply", object: { key: keyOfObject(item), uid, resourceVersion, value: read(item) } });
      }
      await store.take({ type: "initDone", resourceVersion: "0" });
    });
    return new StoreCache({ kind, selection, store, indexes, unreadable, holds: keep ? "kept" : sent });
  }

  /** Lists what was declared since the last call. */
  async fill(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#fills.splice(0).map((fill) => fill(signal)));
  }
}
