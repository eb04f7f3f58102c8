// Decodes lists and watches in `application/vnd.kubernetes.protobuf`.
import type { KubeObject, Stored } from "../client/object.ts";
import { ByteQueue } from "./byte-queue.ts";
import type { ReadObject } from "../wire/protobuf-kinds.ts";
import { readMetadataOnly } from "../wire/protobuf-kinds.ts";
import { readListMeta } from "../wire/protobuf-metadata.ts";
import { openEnvelope } from "../wire/protobuf-envelope.ts";
import { ProtobufReader, blockField } from "../wire/protobuf-reader.ts";
import { readStatus } from "../wire/protobuf-status.ts";
import { WireError } from "../wire/wire-error.ts";
import type { WatchDecoder, WireEvent, WirePage } from "./wire-event.ts";
import { initialEventsEnd } from "./wire-event.ts";

/** Each frame of a watch begins with its length. */
const lengthBytes = 4;
/** The API server stores at most a few megabytes per object; a longer frame means that we lost the frame boundaries. */
const longestFrame = 256 * 1024 * 1024;

/** Decodes a protobuf watch whose objects `readObject` reads. */
export class ProtobufWatchDecoder implements WatchDecoder {
  readonly #queue = new ByteQueue();
  readonly #reader = new ProtobufReader();
  readonly #readObject: ReadObject;

  constructor(readObject: ReadObject) {
    this.#readObject = readObject;
  }

  push(chunk: Uint8Array): void {
    this.#queue.push(chunk);
  }

  next(): WireEvent | undefined {
    const queue = this.#queue;
    if (queue.length < lengthBytes) return undefined;
    const length = queue.bytes.readUInt32BE(queue.start);
    if (length > longestFrame) throw new WireError(`protobuf: a watch frame of ${length} bytes`);
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
        return { type: "added", object: this.#readObject(reader, envelope.end) };
      case "MODIFIED":
        return { type: "modified", object: this.#readObject(reader, envelope.end) };
      case "DELETED":
        return { type: "deleted", object: this.#readObject(reader, envelope.end) };
      case "BOOKMARK": {
        const { metadata } = readMetadataOnly(reader, envelope.end);
        const endOfInitialEvents = metadata.annotations?.[initialEventsEnd] === "true";
        return { type: "bookmark", resourceVersion: metadata.resourceVersion, endOfInitialEvents };
      }
      case "ERROR":
        return { type: "error", status: readStatus(reader, envelope.end) };
      default:
        throw new WireError(`protobuf: unknown watch event type ${JSON.stringify(type.slice(0, 20))}`);
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
    if (tag === blockField(2)) yield readObject(reader, reader.block());
    else reader.skip(tag);
  }
}
