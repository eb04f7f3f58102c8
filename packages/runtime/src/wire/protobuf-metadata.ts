// The parts of the Kubernetes API that every kind shares, read from protobuf into the shape that JSON has.
// Field numbers: k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.
import type { OwnerReference, StoredMeta } from "../client/object.ts";
import { type Mutable, setNumber, setText } from "./json-shape.ts";
import type { ProtobufReader } from "./protobuf-reader.ts";
import { blockField, numberField } from "./protobuf-reader.ts";
import { WireError } from "./wire-error.ts";

/** Sets `key` as an own property, also when it is `__proto__`, which a Secret's data may have. */
function setOwn(target: Record<string, string>, key: string, value: string): void {
  if (key === "__proto__") Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

/** Reads the value of a map entry. */
export type ReadValue = (reader: ProtobufReader) => string;

/** Values that are unlikely to come again. */
export const ownText: ReadValue = (reader) => reader.text();
/** Values that are likely to come again. */
const sharedText: ReadValue = (reader) => reader.sharedText();
/** Values that JSON has in base64. */
export const base64Bytes: ReadValue = (reader) => reader.base64();

/** Reads one entry of a map field into `target`. An entry without a value is empty. */
export function readMapEntry(reader: ProtobufReader, target: Record<string, string>, readValue: ReadValue): void {
  const end = reader.block();
  let key = "";
  let value = "";
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(1)) key = reader.sharedText();
    else if (tag === blockField(2)) value = readValue(reader);
    else reader.skip(tag);
  }
  setOwn(target, key, value);
}

/** Reads an `ObjectMeta`, less `managedFields`, which are passed over unread. */
export function readObjectMeta(reader: ProtobufReader): StoredMeta {
  const end = reader.block();
  const meta: Mutable<StoredMeta> = { name: "", uid: "", resourceVersion: "" };
  let labels: Record<string, string> | undefined;
  let annotations: Record<string, string> | undefined;
  while (reader.at < end) {
    const tag = reader.varint();
    switch (tag) {
      case blockField(1):
        meta.name = reader.text();
        break;
      case blockField(2):
        setText(meta, "generateName", reader.sharedText());
        break;
      case blockField(3):
        setText(meta, "namespace", reader.sharedText());
        break;
      case blockField(5):
        meta.uid = reader.text();
        break;
      case blockField(6):
        meta.resourceVersion = reader.text();
        break;
      case numberField(7):
        setNumber(meta, "generation", reader.varint());
        break;
      case blockField(8):
        setText(meta, "creationTimestamp", readTime(reader));
        break;
      case blockField(9):
        setText(meta, "deletionTimestamp", readTime(reader));
        break;
      case numberField(10):
        meta.deletionGracePeriodSeconds = reader.varint();
        break;
      case blockField(11):
        meta.labels = labels ??= {};
        readMapEntry(reader, labels, sharedText);
        break;
      case blockField(12):
        meta.annotations = annotations ??= {};
        readMapEntry(reader, annotations, ownText);
        break;
      case blockField(13):
        meta.ownerReferences = [...(meta.ownerReferences ?? []), readOwnerReference(reader)];
        break;
      case blockField(14):
        meta.finalizers = [...(meta.finalizers ?? []), reader.sharedText()];
        break;
      default:
        reader.skip(tag);
    }
  }
  return meta;
}

function readOwnerReference(reader: ProtobufReader): OwnerReference {
  const end = reader.block();
  const reference: Mutable<OwnerReference> = { apiVersion: "", kind: "", name: "", uid: "" };
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(1)) reference.kind = reader.sharedText();
    else if (tag === blockField(3)) reference.name = reader.text();
    else if (tag === blockField(4)) reference.uid = reader.text();
    else if (tag === blockField(5)) reference.apiVersion = reader.sharedText();
    else if (tag === numberField(6)) reference.controller = reader.varint() !== 0;
    else if (tag === numberField(7)) reference.blockOwnerDeletion = reader.varint() !== 0;
    else reader.skip(tag);
  }
  return reference;
}

/** A `Time` as RFC 3339 in whole seconds, as the API server writes it; empty for no time. */
function readTime(reader: ProtobufReader): string {
  const end = reader.block();
  let seconds: number | undefined;
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === numberField(1)) seconds = reader.varint();
    else reader.skip(tag);
  }
  return seconds === undefined ? "" : timeText(seconds);
}

/** 9999-12-31T23:59:59Z, the last that RFC 3339 can write. */
const latestSeconds = 253_402_300_799;
const knownTimes = new Map<number, string>();
const mostKnownTimes = 4096;

/** Objects made together share their creation time, so recent texts are likely to be wanted again. */
function timeText(seconds: number): string {
  const known = knownTimes.get(seconds);
  if (known !== undefined) return known;
  if (seconds > latestSeconds) throw new WireError("protobuf: a time out of range");
  const text = new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
  if (knownTimes.size >= mostKnownTimes) knownTimes.clear();
  knownTimes.set(seconds, text);
  return text;
}

/** Reads a `ListMeta`. */
export function readListMeta(reader: ProtobufReader): { readonly resourceVersion: string; readonly continue: string | undefined } {
  const end = reader.block();
  let resourceVersion = "";
  let token = "";
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(2)) resourceVersion = reader.text();
    else if (tag === blockField(3)) token = reader.text();
    else reader.skip(tag);
  }
  return { resourceVersion, continue: token === "" ? undefined : token };
}
