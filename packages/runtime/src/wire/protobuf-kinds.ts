// The kinds that are read from protobuf: those that come in thousands and hold much. All others are read from JSON.
// Field numbers: k8s.io/api/core/v1/generated.proto.
import type { Kind } from "../client/kind.ts";
import type { KubeObject, Stored, StoredMeta } from "../client/object.ts";
import type { ProtobufReader } from "./protobuf-reader.ts";
import { blockField, numberField } from "./protobuf-reader.ts";
import { base64Bytes, ownText, readMapEntry, readObjectMeta } from "./protobuf-metadata.ts";

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
