// A state of an object that the API server confirmed, by storing a write or answering a read: enough to tell whether a cache has caught up with it.
import type { Kind } from "./kind.ts";
import type { ObjectKey } from "./object.ts";

/** A write that the API server confirmed. */
export type WriteRecord =
  | {
      readonly type: "written";
      readonly kind: Kind;
      readonly key: ObjectKey;
      readonly uid: string;
      readonly resourceVersion: string;
      /** Labels after the write: they decide which selections see it. */
      readonly labels: Readonly<Record<string, string>>;
    }
  | { readonly type: "deleted"; readonly kind: Kind; readonly key: ObjectKey; readonly uid: string | undefined };
