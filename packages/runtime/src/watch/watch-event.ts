// What a watch tells its store: five events, and nothing else.

/** Which object, and which state of it. */
export interface Identity {
  /** `namespace/name`, or `name` for cluster-scoped kinds. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** An object as a watch delivers it: its identity, and what `keep` made of it. Identity is all that the store itself needs. */
export interface Observed<V> extends Identity {
  readonly value: V;
}

/**
 * The algebra between watch and store.
 *
 * A (re)list is `init`, any number of `initApply`, `initDone`; objects that were not named in between are gone. Between lists come `apply` and `delete`.
 * Within a list a later `initApply` of a key stands for the earlier one, and a `delete` takes it back: a WatchList shows what happens while it runs.
 * A list that breaks off is followed by another `init`, which starts afresh; until an `initDone` the store keeps what it had.
 * `progress` says that everything up to a resourceVersion has been delivered (bookmarks).
 */
export type WatchEvent<V> =
  | { readonly type: "init" }
  | { readonly type: "initApply"; readonly object: Observed<V> }
  | { readonly type: "initDone"; readonly resourceVersion: string }
  | { readonly type: "apply"; readonly object: Observed<V> }
  | { readonly type: "delete"; readonly object: Identity }
  | { readonly type: "progress"; readonly resourceVersion: string };
