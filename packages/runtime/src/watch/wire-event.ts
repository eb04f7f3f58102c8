// What the API server says on a watch or in a list, whatever the encoding; decoders give these and nothing else.
import type { StatusBody } from "../client/api-error.ts";
import type { KubeObject, Stored } from "../client/object.ts";

/** One event of a watch, as the server sent it. */
export type WireEvent =
  | { readonly type: "added" | "modified" | "deleted"; readonly object: Stored<KubeObject> }
  /** `endOfInitialEvents`: everything that existed when the watch began has been sent. */
  | { readonly type: "bookmark"; readonly resourceVersion: string; readonly endOfInitialEvents: boolean }
  | { readonly type: "error"; readonly status: StatusBody };

/** Turns the bytes of a watch into events. Throws `WireError` on bytes that are none; messages never quote the bytes. */
export interface WatchDecoder {
  push(chunk: Uint8Array): void;
  /** The next complete event, or undefined until more bytes come. */
  next(): WireEvent | undefined;
}

/** One page of a list. `objects` decodes as it is iterated, so that a large page need not be decoded in one go. */
export interface WirePage {
  readonly resourceVersion: string;
  /** Token of the next page; undefined on the last. */
  readonly continue: string | undefined;
  readonly objects: Iterable<Stored<KubeObject>>;
}

/** On the bookmark that ends the initial events of a WatchList (`sendInitialEvents`). */
export const initialEventsEnd = "k8s.io/initial-events-end";
