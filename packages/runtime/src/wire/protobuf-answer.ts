// Answers to single requests in protobuf: the metadata of an object, or the `Status` of what was refused.
import type { StatusBody } from "../client/api-error.ts";
import type { KubeObject, Stored } from "../client/object.ts";
import { openEnvelope } from "./protobuf-envelope.ts";
import { readMetadataOnly } from "./protobuf-kinds.ts";
import { ProtobufReader } from "./protobuf-reader.ts";
import { readStatus } from "./protobuf-status.ts";
import { WireError } from "./wire-error.ts";

/** One for all answers: reading is done before the next begins, and the texts that it shares are the same for every server. */
const reader = new ProtobufReader();

/** Decodes an answer into what the same answer in JSON would be, less `managedFields`. Throws `WireError` on anything else. */
export function decodeProtobufAnswer(bytes: Buffer): StatusBody | Stored<KubeObject> {
  reader.open(bytes, 0, bytes.length);
  const { kind, end } = openEnvelope(reader, bytes, bytes.length);
  if (kind === "Status") return readStatus(reader, end);
  if (kind === "PartialObjectMetadata") return { kind, ...readMetadataOnly(reader, end) };
  throw new WireError(`protobuf: an answer of kind ${JSON.stringify(kind.slice(0, 40))}, which was not asked for`);
}

/** Decodes the `Status` that comes instead of what was asked for; undefined if it is something else. Throws `WireError` on what is no answer at all. */
export function decodeProtobufStatus(bytes: Buffer): StatusBody | undefined {
  const answer = decodeProtobufAnswer(bytes);
  return "metadata" in answer ? undefined : answer;
}
