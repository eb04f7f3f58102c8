// Finds out when a store has observed a write of ours, so that nothing is decided from a state older than it.
import type { Selection } from "../client/client.ts";
import { type Kind, nameOf, type ObjectKey } from "../client/kind.ts";
import type { WriteRecord } from "../controller/run.ts";
import { type HeapItem, IndexedHeap } from "../collections.ts";
import { compareResourceVersions } from "../watch/step.ts";
import { fieldAt, fieldPathsOf, type LabelMatcher, parseFieldSelector, parseLabelSelector } from "./selectors.ts";
import type { Store } from "./store.ts";

/** What a cache covers. */
interface Coverage {
  readonly kind: Kind;
  readonly selection: Selection;
}

/**
 * Bookmarks come in order with the events. One may be under way when the write is made; a second one that still lies before the write
 * shows that the server has forgotten it (restored from a backup) or that the two cannot be compared.
 */
const bookmarksThatSettle = 2;

/** Whether a write can make a difference to a cache of this coverage, now or once an earlier write is undone. `held`: the cache has the object. */
export function coverage({ kind, selection }: Coverage): (write: WriteRecord, held: boolean) => boolean {
  const onlyNamespace = kind.namespaced ? selection.namespace : undefined;
  const onlyName = selectedName(selection);
  const selectsFields = parseFieldSelector(selection.fields ?? "");
  let selects: LabelMatcher | undefined;
  return (write, held) => {
    if (kind.group !== write.kind.group || kind.plural !== write.kind.plural) return false;
    const { namespace, name } = nameOf(write.key);
    if ((onlyNamespace ?? namespace) !== namespace || (onlyName ?? name) !== name) return false;
    // What is held must be seen to leave, even if the write moved it out of the selection.
    if (held || write.type === "deleted") return true;
    return (selects ??= parseLabelSelector(selection.labels ?? ""))(write.labels) && selectsFields((path) => fieldOf(write, path));
  };
}

/** What the object has there after the write, if that is known: see `selectsByContent`. */
function fieldOf(write: Extract<WriteRecord, { type: "written" }>, path: string): string | undefined {
  const { namespace = "", name } = nameOf(write.key);
  if (path === "metadata.name") return name;
  if (path === "metadata.namespace") return namespace;
  return write.content && (fieldAt(write.content, path) ?? "");
}

/** True if more must be known of an object than its metadata to know whether it is selected: the server fills in what a write does not say. */
export function selectsByContent({ fields = "" }: Selection): boolean {
  return fieldPathsOf(fields).some((path) => path !== "metadata.name" && path !== "metadata.namespace");
}

/** The one name that a field selector admits, if there is one. An object's name never changes, so others can never be seen there. */
function selectedName({ fields = "" }: Selection): string | undefined {
  return /(?:^|,)metadata\.name==?([^,]+)/.exec(fields)?.[1];
}

/** One who waits for a write to be shown. */
interface Wait extends HeapItem {
  readonly write: WriteRecord;
  /** How far the store had come when the wait began. */
  readonly listsBegun: number;
  readonly bookmarks: number;
  readonly resolve: (shown: boolean) => void;
}

/** Watches one store for writes to show up in it. An event costs the same however many wait, unless it is a list or a bookmark. */
export class WriteTracker {
  readonly #store: Store<unknown>;
  readonly #waits = new Map<ObjectKey, Set<Wait>>();
  /** Those of `#waits` that a resourceVersion can end, the one that is reached first in front. */
  readonly #byVersion = new IndexedHeap<Wait>((a, b) => (compareResourceVersions(versionOf(a.write), versionOf(b.write)) ?? 0) < 0);

  constructor(store: Store<unknown>) {
    this.#store = store;
    store.onMove((changed) => this.#onMove(changed));
  }

  /**
   * Resolves when the store shows `write` or something newer, or when a list begun after this call is complete: to true if the write was delivered,
   * to false if it may have been undone (a server restored from a backup), in which case no change of the store reports that. Rejects with the signal's reason.
   */
  whenObserved(write: WriteRecord, signal?: AbortSignal): Promise<boolean> {
    const { listsBegun, bookmarks } = this.#store.position;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (this.#shows(write)) return resolve(true);
      const wait: Wait = {
        write,
        listsBegun,
        bookmarks,
        position: -1,
        resolve: (shown) => {
          signal?.removeEventListener("abort", onAbort);
          resolve(shown);
        },
      };
      const onAbort = (): void => {
        this.#remove(wait);
        reject(signal?.reason);
      };
      this.#add(wait);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** `changed`: the one object that is not as it was; undefined if more may have happened. */
  #onMove(changed: ObjectKey | undefined): void {
    if (this.#waits.size === 0) return;
    if (changed === undefined) {
      for (const key of this.#waits.keys()) this.#look(key);
      return;
    }
    for (let first = this.#byVersion.peek(); first && this.#isReached(first.write); first = this.#byVersion.peek()) this.#look(first.write.key);
    this.#look(changed);
  }

  /** Ends the waits for an object that are over, in the order in which they began. */
  #look(key: ObjectKey): void {
    for (const wait of this.#waits.get(key) ?? []) {
      const { write } = wait;
      const { lastListDone, bookmarks } = this.#store.position;
      const relisted = lastListDone > wait.listsBegun;
      const shown = this.#shows(write);
      if (!shown && !relisted && bookmarks < wait.bookmarks + bookmarksThatSettle) continue;
      this.#remove(wait);
      wait.resolve(this.#holds(write) || (shown && !relisted));
    }
  }

  #add(wait: Wait): void {
    const { write } = wait;
    const waits = this.#waits.get(write.key) ?? new Set();
    this.#waits.set(write.key, waits.add(wait));
    if (compareResourceVersions(versionOf(write), "0") !== undefined) this.#byVersion.push(wait);
  }

  #remove(wait: Wait): void {
    const { key } = wait.write;
    const waits = this.#waits.get(key);
    waits?.delete(wait);
    if (waits?.size === 0) this.#waits.delete(key);
    if (this.#byVersion.has(wait)) this.#byVersion.remove(wait);
  }

  /** The store holds exactly what the write left. */
  #holds(write: WriteRecord): boolean {
    const held = this.#store.get(write.key);
    if (write.type === "deleted") return !held;
    return held?.uid === write.uid && held.resourceVersion === write.resourceVersion;
  }

  #shows(write: WriteRecord): boolean {
    if (write.type === "written") return this.#isReached(write) || this.#holds(write);
    const { synced } = this.#store;
    const held = this.#store.get(write.key);
    // One that is not there may be yet to come, if we made it a moment before we deleted it.
    if (!held) return synced && !this.#isAwaited(write);
    return synced && write.uid !== undefined && held.uid !== write.uid;
  }

  /** Events come in the order of their resourceVersions, so one number counts for every object. */
  #isReached(write: WriteRecord): boolean {
    const { resourceVersion } = this.#store.position;
    return resourceVersion !== undefined && (compareResourceVersions(resourceVersion, versionOf(write)) ?? -1) >= 0;
  }

  #isAwaited({ key, uid }: WriteRecord): boolean {
    return (
      uid !== undefined &&
      (this.#waits
        .get(key)
        ?.values()
        .some(({ write }) => write.type === "written" && write.uid === uid) ??
        false)
    );
  }
}

/** What the store must reach; for a deletion, whose own version the server does not send, something that no number compares with. */
function versionOf(write: WriteRecord): string {
  return write.type === "written" ? write.resourceVersion : "";
}
