// Lists and watches as the API server sends them, in JSON or protobuf, decoded into the same few events.
import { type StatusBody, statusBodyOf } from "../client/api-error.ts";
import { isRecord } from "../json.ts";
import type { KubeObject, ObjectMeta, Stored } from "../client/kind.ts";
import { ByteQueue } from "../client/response.ts";
import { AnswerTooLongError } from "../client/transport.ts";
import { openEnvelope, readListMeta, readMetadataOnly, type ReadObject, readStatus } from "../wire/protobuf-objects.ts";
import { blockField, ProtobufReader, WireError } from "../wire/protobuf-reader.ts";

// What the API server says on a watch or in a list, whatever the encoding; decoders give these and nothing else.

/** One event of a watch, as the server sent it. */
export type WireEvent =
  | { readonly type: "added" | "modified" | "deleted"; readonly object: Stored<KubeObject> }
  /** `endOfInitialEvents`: everything that existed when the watch began has been sent. */
  | { readonly type: "bookmark"; readonly resourceVersion: string; readonly endOfInitialEvents: boolean }
  | { readonly type: "error"; readonly status: StatusBody };

/** Turns the bytes of a watch into events. Throws `WireError` on bytes that are none, and `AnswerTooLongError`; messages never quote the bytes. */
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
const initialEventsEnd = "k8s.io/initial-events-end";

// Decodes lists and watches in `application/json`.

/** Completes an object as it is read: sets the type that list items lack and drops what nobody is to see. */
type FinishObject = (object: KubeObject) => Stored<KubeObject>;

const newline = 0x0a;

/** Decodes a JSON watch: one event per line. */
export class JsonWatchDecoder implements WatchDecoder {
  readonly #queue = new ByteQueue();
  readonly #finish: FinishObject;
  readonly #maxEventBytes: number;
  /** How much of the queue is known to hold no newline, so that a long line is searched once. */
  #searched = 0;

  constructor(finish: FinishObject, maxEventBytes: number) {
    this.#finish = finish;
    this.#maxEventBytes = maxEventBytes;
  }

  push(chunk: Uint8Array): void {
    this.#queue.push(chunk);
  }

  next(): WireEvent | undefined {
    const queue = this.#queue;
    while (queue.length > this.#searched) {
      const found = queue.bytes.indexOf(newline, queue.start + this.#searched);
      const length = (found < 0 || found >= queue.end ? queue.end : found) - queue.start;
      if (length > this.#maxEventBytes) throw new AnswerTooLongError("event", this.#maxEventBytes);
      if (length === queue.length) {
        this.#searched = length;
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
    const { type, object } = isRecord(event) ? event : {};
    if (type === "ERROR") return { type: "error", status: statusBodyOf({ ...(isRecord(object) && object), kind: "Status" }) ?? {} };
    if (!isObject(object)) throw new WireError("json: a watch event without an object");
    switch (type) {
      case "ADDED":
        return { type: "added", object: this.#finish(object) };
      case "MODIFIED":
        return { type: "modified", object: this.#finish(object) };
      case "DELETED":
        return { type: "deleted", object: this.#finish(object) };
      case "BOOKMARK": {
        const { resourceVersion, annotations } = object.metadata;
        if (!isText(resourceVersion)) throw new WireError("json: a bookmark without a resourceVersion");
        return { type: "bookmark", resourceVersion, endOfInitialEvents: annotations?.[initialEventsEnd] === "true" };
      }
      case undefined:
      default:
        throw new WireError("json: a watch event of no known type");
    }
  }
}

/** Decodes one page of a JSON list. */
export function decodeJsonPage(bytes: Buffer, finish: FinishObject): WirePage {
  const list = parseJson(bytes.toString("utf8"));
  const { metadata, items } = isRecord(list) ? list : {};
  const { resourceVersion, continue: token } = isRecord(metadata) ? metadata : {};
  if (!isText(resourceVersion)) throw new WireError("json: a list without a resourceVersion");
  const objects: readonly unknown[] | undefined = items === undefined || items === null ? [] : Array.isArray(items) ? items : undefined;
  if (!objects) throw new WireError("json: a list without a list of items");
  return { resourceVersion, continue: isText(token) ? token : undefined, objects: objects.values().map((item) => finish(asObject(item))) };
}

function asObject(item: unknown): KubeObject {
  if (!isObject(item)) throw new WireError("json: an item of a list that is no object");
  return item;
}

/** Something with metadata, of which nothing else is known. */
function isObject(value: unknown): value is KubeObject {
  return isRecord(value) && isRecord(value["metadata"]);
}

/** What is compared as a text later must be one: a number would end the process there. */
function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Decodes the `Status` that comes instead of what was asked for; undefined if the bytes are none. */
export function decodeJsonStatus(bytes: Buffer): StatusBody | undefined {
  return statusBodyOf(parseJson(bytes.toString("utf8")));
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

function withoutManagedFields(metadata: ObjectMeta & { readonly managedFields?: unknown }): ObjectMeta {
  const { managedFields: _, ...rest } = metadata;
  const { name, uid = "-", resourceVersion } = rest;
  if (![name, uid, resourceVersion].every(isText)) throw new WireError("json: an object without metadata");
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

// Decodes lists and watches in `application/vnd.kubernetes.protobuf`.

/** Each frame of a watch begins with its length. */
const lengthBytes = 4;

/** Decodes a protobuf watch whose objects `readObject` reads. */
export class ProtobufWatchDecoder implements WatchDecoder {
  readonly #queue = new ByteQueue();
  readonly #reader = new ProtobufReader();
  readonly #readObject: ReadObject;
  readonly #maxEventBytes: number;

  constructor(readObject: ReadObject, maxEventBytes: number) {
    this.#readObject = readObject;
    this.#maxEventBytes = maxEventBytes;
  }

  push(chunk: Uint8Array): void {
    this.#queue.push(chunk);
  }

  next(): WireEvent | undefined {
    const queue = this.#queue;
    if (queue.length < lengthBytes) return undefined;
    const length = queue.bytes.readUInt32BE(queue.start);
    if (length > this.#maxEventBytes) throw new AnswerTooLongError("event", this.#maxEventBytes);
    if (queue.length < lengthBytes + length) return undefined;
    const start = queue.start + lengthBytes;
    const event = this.#decode(queue.bytes, start, start + length);
    queue.drop(lengthBytes + length);
    return event;
  }

  #decode(bytes: Buffer, start: number, end: number): WireEvent {
    const reader = this.#reader;
    reader.open(bytes, start, end);
    let type = "";
    let objectAt = start;
    let objectEnd = start;
    while (reader.at < end) {
      const tag = reader.varint();
      if (tag === blockField(1)) {
        type = reader.sharedText();
      } else if (tag === blockField(2)) {
        // RawExtension: one field with the bytes.
        const extensionEnd = reader.block();
        if (reader.at < extensionEnd && reader.varint() === blockField(1)) {
          objectEnd = reader.block();
          objectAt = reader.at;
        }
        reader.moveTo(extensionEnd);
      } else {
        reader.skip(tag);
      }
    }
    reader.open(bytes, objectAt, objectEnd);
    const envelope = openEnvelope(reader, bytes, objectEnd);
    switch (type) {
      case "ADDED":
        return { type: "added", object: identified(this.#readObject(reader, envelope.end)) };
      case "MODIFIED":
        return { type: "modified", object: identified(this.#readObject(reader, envelope.end)) };
      case "DELETED":
        return { type: "deleted", object: identified(this.#readObject(reader, envelope.end)) };
      case "BOOKMARK": {
        const { metadata } = readMetadataOnly(reader, envelope.end);
        if (metadata.resourceVersion === "") throw new WireError("protobuf: a bookmark without a resourceVersion");
        const endOfInitialEvents = metadata.annotations?.[initialEventsEnd] === "true";
        return { type: "bookmark", resourceVersion: metadata.resourceVersion, endOfInitialEvents };
      }
      case "ERROR":
        return { type: "error", status: readStatus(reader, envelope.end) };
      default:
        throw new WireError("protobuf: a watch event of no known type");
    }
  }
}

/** Decodes one page of a protobuf list whose items `readObject` reads. */
export function decodeProtobufPage(bytes: Buffer, readObject: ReadObject): WirePage {
  const reader = new ProtobufReader();
  reader.open(bytes, 0, bytes.length);
  const { end } = openEnvelope(reader, bytes, bytes.length);
  const start = reader.at;
  let meta: { readonly resourceVersion: string; readonly continue: string | undefined } | undefined;
  while (reader.at < end && !meta) {
    const tag = reader.varint();
    if (tag === blockField(1)) meta = readListMeta(reader);
    else reader.skip(tag);
  }
  if (!meta?.resourceVersion) throw new WireError("protobuf: a list without a resourceVersion");
  return { ...meta, objects: readItems(reader, { start, end }, readObject) };
}

function* readItems(
  reader: ProtobufReader,
  { start, end }: { readonly start: number; readonly end: number },
  readObject: ReadObject,
): Generator<Stored<KubeObject>> {
  reader.moveTo(start);
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(2)) yield identified(readObject(reader, reader.block()));
    else reader.skip(tag);
  }
}

/** Protobuf has empty texts where nothing was said. A watch that goes on from no version at all would be shown what exists, and not what has gone. */
function identified(object: Stored<KubeObject>): Stored<KubeObject> {
  const { name, resourceVersion } = object.metadata;
  if (name === "" || resourceVersion === "") throw new WireError("protobuf: an object without metadata");
  return object;
}
