// Kubernetes objects in protobuf, read into the shape that JSON has.
import type { StatusBody } from "../client/api-error.ts";
import type { Kind, KubeObject, OwnerReference, Stored, StoredMeta } from "../client/kind.ts";
import { type Mutable, setNumber, setText } from "../json.ts";
import { blockField, numberField, ProtobufReader, WireError } from "./protobuf-reader.ts";

// What is around every object in protobuf: k8s.io/apimachinery/pkg/runtime/generated.proto.

/** The content type of Kubernetes' protobuf; parameters may follow. */
export const protobufType = "application/vnd.kubernetes.protobuf";

/** Passes over the envelope that wraps every object: the bytes `k8s\0`, then a message that names the type. Returns where the object itself ends. */
export function openEnvelope(reader: ProtobufReader, bytes: Buffer, end: number): { readonly kind: string; readonly end: number } {
  const at = reader.at;
  if (end - at < 4 || bytes.readUInt32BE(at) !== 0x6b387300) throw new WireError("protobuf: an object without the Kubernetes prefix");
  reader.moveTo(at + 4);
  let kind = "";
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(1)) kind = readTypeKind(reader);
    else if (tag === blockField(2)) return { kind, end: reader.block() };
    else reader.skip(tag);
  }
  return { kind, end: reader.at };
}

function readTypeKind(reader: ProtobufReader): string {
  const end = reader.block();
  let kind = "";
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(2)) kind = reader.sharedText();
    else reader.skip(tag);
  }
  return kind;
}

// The parts of the Kubernetes API that every kind shares, read from protobuf into the shape that JSON has.
// Field numbers: k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.

/** Sets `key` as an own property, also when it is `__proto__`, which a Secret's data may have. */
function setOwn(target: Record<string, string>, key: string, value: string): void {
  if (key === "__proto__") Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

/** Reads the value of a map entry. */
type ReadValue = (reader: ProtobufReader) => string;

/** Values that are unlikely to come again. */
const ownText: ReadValue = (reader) => reader.text();
/** Values that are likely to come again. */
const sharedText: ReadValue = (reader) => reader.sharedText();
/** Values that JSON has in base64. */
const base64Bytes: ReadValue = (reader) => reader.base64();

/** Reads one entry of a map field into `target`. An entry without a value is empty. */
function readMapEntry(reader: ProtobufReader, target: Record<string, string>, readValue: ReadValue): void {
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
function readObjectMeta(reader: ProtobufReader): StoredMeta {
  const end = reader.block();
  const meta: Mutable<StoredMeta> = { name: "", uid: "", resourceVersion: "" };
  let labels: Record<string, string> | undefined;
  let annotations: Record<string, string> | undefined;
  // Added to, not made anew for each: there can be hundreds of thousands.
  let owners: OwnerReference[] | undefined;
  let finalizers: string[] | undefined;
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
        meta.ownerReferences = owners ??= [];
        owners.push(readOwnerReference(reader));
        break;
      case blockField(14):
        meta.finalizers = finalizers ??= [];
        finalizers.push(reader.sharedText());
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
const maxKnownTimes = 4096;

/** Objects made together share their creation time, so recent texts are likely to be wanted again. */
function timeText(seconds: number): string {
  const known = knownTimes.get(seconds);
  if (known !== undefined) return known;
  if (seconds > latestSeconds) throw new WireError("protobuf: a time out of range");
  const text = new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
  if (knownTimes.size >= maxKnownTimes) knownTimes.clear();
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

// The kinds that are read from protobuf: those that come in thousands and hold much. All others are read from JSON.
// Field numbers: k8s.io/api/core/v1/generated.proto.

/** Reads one object that ends at `end`. */
export type ReadObject = (reader: ProtobufReader, end: number) => Stored<KubeObject>;

/** How objects of `kind` are read from protobuf, or undefined if they are not. */
export function protobufObjectReader(kind: Kind): ReadObject | undefined {
  if (kind.group !== "" || kind.version !== "v1") return undefined;
  if (kind.plural === "secrets") return readSecret;
  if (kind.plural === "configmaps") return readConfigMap;
  return undefined;
}

/** Any kind's metadata alone: field 1 is the metadata in every kind. */
export const readMetadataOnly: ReadObject = (reader, end) => {
  let metadata = noMetadata;
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(1)) metadata = readObjectMeta(reader);
    else reader.skip(tag);
  }
  return { metadata };
};

const noMetadata: StoredMeta = { name: "", uid: "", resourceVersion: "" };

const readSecret: ReadObject = (reader, end) => {
  let metadata = noMetadata;
  let data: Record<string, string> | undefined;
  let type = "";
  let immutable: boolean | undefined;
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(1)) metadata = readObjectMeta(reader);
    else if (tag === blockField(2)) readMapEntry(reader, (data ??= {}), base64Bytes);
    else if (tag === blockField(3)) type = reader.sharedText();
    else if (tag === numberField(5)) immutable = reader.varint() !== 0;
    else reader.skip(tag);
  }
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    ...(data && { data }),
    ...(type !== "" && { type }),
    ...(immutable !== undefined && { immutable }),
  };
};

const readConfigMap: ReadObject = (reader, end) => {
  let metadata = noMetadata;
  let data: Record<string, string> | undefined;
  let binaryData: Record<string, string> | undefined;
  let immutable: boolean | undefined;
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(1)) metadata = readObjectMeta(reader);
    else if (tag === blockField(2)) readMapEntry(reader, (data ??= {}), ownText);
    else if (tag === blockField(3)) readMapEntry(reader, (binaryData ??= {}), base64Bytes);
    else if (tag === numberField(4)) immutable = reader.varint() !== 0;
    else reader.skip(tag);
  }
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata,
    ...(data && { data }),
    ...(binaryData && { binaryData }),
    ...(immutable !== undefined && { immutable }),
  };
};

// The `Status` that the API server answers with when it refuses something: k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.

type Details = NonNullable<StatusBody["details"]>;
type Cause = NonNullable<Details["causes"]>[number];

/** Reads a `Status` that ends at `end`, into the shape that JSON has. */
export function readStatus(reader: ProtobufReader, end: number): StatusBody {
  const status: Mutable<StatusBody> = { kind: "Status" };
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(2)) setText(status, "status", reader.text());
    else if (tag === blockField(3)) setText(status, "message", reader.text());
    else if (tag === blockField(4)) setText(status, "reason", reader.text());
    else if (tag === blockField(5)) status.details = readDetails(reader);
    else if (tag === numberField(6)) status.code = reader.varint();
    else reader.skip(tag);
  }
  return status;
}

function readDetails(reader: ProtobufReader): Details {
  const end = reader.block();
  const details: Mutable<Details> = {};
  let causes: Cause[] | undefined;
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(1)) setText(details, "name", reader.text());
    else if (tag === blockField(2)) setText(details, "group", reader.text());
    else if (tag === blockField(3)) setText(details, "kind", reader.text());
    else if (tag === blockField(4)) {
      details.causes = causes ??= [];
      causes.push(readCause(reader));
    } else if (tag === numberField(5)) setNumber(details, "retryAfterSeconds", reader.varint());
    else if (tag === blockField(6)) setText(details, "uid", reader.text());
    else reader.skip(tag);
  }
  return details;
}

function readCause(reader: ProtobufReader): Cause {
  const end = reader.block();
  const cause: Mutable<Cause> = {};
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(1)) setText(cause, "reason", reader.text());
    else if (tag === blockField(2)) setText(cause, "message", reader.text());
    else if (tag === blockField(3)) setText(cause, "field", reader.text());
    else reader.skip(tag);
  }
  return cause;
}

// Answers to single requests in protobuf: the metadata of an object, or the `Status` of what was refused.

/** One for all answers: reading is done before the next begins, and the texts that it shares are the same for every server. */
const reader = new ProtobufReader();

/** Decodes an answer into what the same answer in JSON would be, less `managedFields`. Throws `WireError` on anything else. */
export function decodeProtobufResponse(bytes: Buffer): StatusBody | Stored<KubeObject> {
  reader.open(bytes, 0, bytes.length);
  const { kind, end } = openEnvelope(reader, bytes, bytes.length);
  if (kind === "Status") return readStatus(reader, end);
  if (kind === "PartialObjectMetadata") return { kind, ...readMetadataOnly(reader, end) };
  throw new WireError("protobuf: an answer of another kind than was asked for");
}

/** Decodes the `Status` that comes instead of what was asked for; undefined if it is something else. Throws `WireError` on what is no answer at all. */
export function decodeProtobufStatus(bytes: Buffer): StatusBody | undefined {
  const answer = decodeProtobufResponse(bytes);
  return "metadata" in answer ? undefined : answer;
}
