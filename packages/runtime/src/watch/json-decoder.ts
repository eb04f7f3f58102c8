// Decodes lists and watches in `application/json`.
import type { StatusBody } from "../client/api-error.ts";
import type { KubeObject, ObjectMeta, Stored } from "../client/object.ts";
import { ByteQueue } from "./byte-queue.ts";
import type { WatchDecoder, WireEvent, WirePage } from "./wire-event.ts";
import { WireError } from "../wire/wire-error.ts";
import { initialEventsEnd } from "./wire-event.ts";

/** Completes an object as it is read: sets the type that list items lack and drops what nobody is to see. */
export type FinishObject = (object: KubeObject) => Stored<KubeObject>;

const newline = 0x0a;

/** Decodes a JSON watch: one event per line. */
export class JsonWatchDecoder implements WatchDecoder {
  readonly #queue = new ByteQueue();
  readonly #finish: FinishObject;
  /** How much of the queue is known to hold no newline, so that a long line is searched once. */
  #searched = 0;

  constructor(finish: FinishObject) {
    this.#finish = finish;
  }

  push(chunk: Uint8Array): void {
    this.#queue.push(chunk);
  }

  next(): WireEvent | undefined {
    const queue = this.#queue;
    while (queue.length > this.#searched) {
      const found = queue.bytes.indexOf(newline, queue.start + this.#searched);
      if (found < 0 || found >= queue.end) {
        this.#searched = queue.length;
        return undefined;
      }
      const line = queue.bytes.toString("utf8", queue.start, found);
      queue.drop(found + 1 - queue.start);
      this.#searched = 0;
      if (line.trim() !== "") return this.#decode(parseJson(line));
    }
    return undefined;
  }

  #decode(event: unknown): WireEvent {
    const { type, object } = event as { readonly type?: string; readonly object?: KubeObject };
    if (typeof object !== "object" || object === null) throw new WireError("json: a watch event without an object");
    switch (type) {
      case "ADDED":
        return { type: "added", object: this.#finish(object) };
      case "MODIFIED":
        return { type: "modified", object: this.#finish(object) };
      case "DELETED":
        return { type: "deleted", object: this.#finish(object) };
      case "BOOKMARK": {
        const { resourceVersion, annotations } = object.metadata ?? {};
        if (!resourceVersion) throw new WireError("json: a bookmark without a resourceVersion");
        return { type: "bookmark", resourceVersion, endOfInitialEvents: annotations?.[initialEventsEnd] === "true" };
      }
      case "ERROR":
        return { type: "error", status: object };
      case undefined:
      default:
        throw new WireError(`json: unknown watch event type ${JSON.stringify(String(type).slice(0, 20))}`);
    }
  }
}

/** Decodes one page of a JSON list. */
export function decodeJsonPage(bytes: Buffer, finish: FinishObject): WirePage {
  const list = parseJson(bytes.toString("utf8")) as {
    readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
    readonly items?: readonly KubeObject[] | null;
  };
  const { resourceVersion, continue: token } = list.metadata ?? {};
  if (!resourceVersion) throw new WireError("json: a list without a resourceVersion");
  return { resourceVersion, continue: token || undefined, objects: (list.items ?? []).values().map(finish) };
}

/** Decodes the `Status` that comes instead of what was asked for; undefined if the bytes are none. */
export function decodeJsonStatus(bytes: Buffer): StatusBody | undefined {
  const body = parseJson(bytes.toString("utf8"));
  return typeof body === "object" && body !== null ? body : undefined;
}

/** Makes the whole object, less `managedFields`. `type` stands in where the server left it out. */
export function finishWhole(type: { readonly apiVersion: string; readonly kind: string }): FinishObject {
  return (object) => {
    const metadata = withoutManagedFields(object.metadata);
    return (object.kind ? { ...object, metadata } : { ...type, ...object, metadata }) as Stored<KubeObject>;
  };
}

/** Makes the metadata alone, less `managedFields`. */
export const finishMetadata: FinishObject = (object) => ({ metadata: withoutManagedFields(object.metadata) }) as Stored<KubeObject>;

function withoutManagedFields(metadata: (ObjectMeta & { readonly managedFields?: unknown }) | undefined): ObjectMeta {
  if (!metadata?.resourceVersion) throw new WireError("json: an object without metadata");
  const { managedFields: _, ...rest } = metadata;
  return rest;
}

/** JSON.parse, but without its habit of quoting the text in the error: the text may be a Secret. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new WireError(`json: ${text.length} characters that are not JSON`);
  }
}
