// Tells when a store shows a write of ours, so that nothing is decided from a state older than it.
import type { Selection } from "../client/client.ts";
import type { Kind } from "../client/kind.ts";
import { nameOf, type ObjectKey } from "../client/object.ts";
import type { WriteRecord } from "../client/write-record.ts";
import { compareResourceVersions } from "../watch/resource-version.ts";
import { parseLabelSelector } from "./label-selector.ts";
import type { Store } from "./store.ts";

/** What a cache covers. */
export interface Coverage {
  readonly kind: Kind;
  readonly selection: Selection;
}

/**
 * Bookmarks come in order with the events. One may be under way when the write is made; a second one that still lies before the write
 * shows that the server has forgotten it (restored from a backup) or that the two cannot be compared.
 */
const bookmarksThatSettle = 2;

/** True if `write` can make a difference to a cache of this coverage, now or once an earlier write is undone. */
export function covers({ kind, selection }: Coverage, write: WriteRecord, held: boolean): boolean {
  if (kind.group !== write.kind.group || kind.plural !== write.kind.plural) return false;
  const { namespace, name } = nameOf(write.key);
  if (selection.namespace !== undefined && kind.namespaced && namespace !== selection.namespace) return false;
  if ((selectedName(selection) ?? name) !== name) return false;
  // What is held must be seen to leave, even if the write moved it out of the selection.
  if (held || write.type === "deleted" || selection.labels === undefined) return true;
  return parseLabelSelector(selection.labels)(write.labels);
}

/** The one name that a field selector admits, if there is one. An object's name never changes, so others can never be seen there. */
function selectedName({ fields = "" }: Selection): string | undefined {
  return /(?:^|,)metadata\.name==?([^,]+)/.exec(fields)?.[1];
}

/** Watches one store for writes to show up in it. */
export class WriteSight {
  readonly #store: Store<unknown>;
  /** How many writes of each object, by uid, are still waited for. */
  readonly #awaited = new Map<string, number>();

  constructor(store: Store<unknown>) {
    this.#store = store;
  }

  /**
   * Resolves when the store shows `write` or something newer, or when a list begun after this call is complete: to true if the write was delivered,
   * to false if it may have been undone (a server restored from a backup), in which case no change of the store tells of that. Rejects with the signal's reason.
   */
  async whenShown(write: WriteRecord, signal?: AbortSignal): Promise<boolean> {
    const { listsBegun, bookmarks } = this.#store.position;
    const relisted = (): boolean => this.#store.position.lastListDone > listsBegun;
    const settled = (changed?: ObjectKey): boolean =>
      this.#shows(write, changed) || relisted() || this.#store.position.bookmarks >= bookmarks + bookmarksThatSettle;
    if (write.type === "written") this.#await(write.uid, 1);
    try {
      await whenMoved(this.#store, settled, signal);
    } finally {
      if (write.type === "written") this.#await(write.uid, -1);
    }
    return this.#holds(write) || (this.#shows(write) && !relisted());
  }

  /** The store holds exactly what the write left. */
  #holds(write: WriteRecord): boolean {
    const held = this.#store.get(write.key);
    if (write.type === "deleted") return !held;
    return held?.uid === write.uid && held.resourceVersion === write.resourceVersion;
  }

  /** `changed`: the one object that is not as it was when this was asked last. */
  #shows(write: WriteRecord, changed?: ObjectKey): boolean {
    const { position, synced } = this.#store;
    if (write.type === "deleted") {
      const held = this.#store.get(write.key);
      // One that is not there may be yet to come, if we made it a moment before we deleted it.
      if (!held) return synced && !(write.uid !== undefined && this.#awaited.has(write.uid));
      return synced && write.uid !== undefined && held.uid !== write.uid;
    }
    // Events come in the order of their resourceVersions, so one number tells for every object.
    const { resourceVersion } = position;
    if (resourceVersion !== undefined && (compareResourceVersions(resourceVersion, write.resourceVersion) ?? -1) >= 0) return true;
    return (changed === undefined || changed === write.key) && this.#holds(write);
  }

  #await(uid: string, change: 1 | -1): void {
    const count = (this.#awaited.get(uid) ?? 0) + change;
    if (count > 0) this.#awaited.set(uid, count);
    else this.#awaited.delete(uid);
  }
}

/** Resolves when `condition` holds; it is looked at now and whenever the store moves, with the key of what changed if that is one object. */
export function whenMoved(store: Pick<Store<unknown>, "onMove">, condition: (changed?: ObjectKey) => boolean, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    if (condition()) return resolve();
    const onAbort = (): void => {
      stop();
      reject(signal?.reason);
    };
    const stop = store.onMove((changed) => {
      if (!condition(changed)) return;
      stop();
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
