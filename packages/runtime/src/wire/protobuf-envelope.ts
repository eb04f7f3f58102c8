// What is around every object in protobuf: k8s.io/apimachinery/pkg/runtime/generated.proto.
import { blockField, type ProtobufReader } from "./protobuf-reader.ts";
import { WireError } from "./wire-error.ts";

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
