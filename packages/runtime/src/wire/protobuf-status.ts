// The `Status` that the API server answers with when it refuses something: k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.
import type { StatusBody } from "../client/api-error.ts";
import { type Mutable, setNumber, setText } from "./json-shape.ts";
import { blockField, numberField, type ProtobufReader } from "./protobuf-reader.ts";

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
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === blockField(1)) setText(details, "name", reader.text());
    else if (tag === blockField(2)) setText(details, "group", reader.text());
    else if (tag === blockField(3)) setText(details, "kind", reader.text());
    else if (tag === blockField(4)) details.causes = [...(details.causes ?? []), readCause(reader)];
    else if (tag === numberField(5)) setNumber(details, "retryAfterSeconds", reader.varint());
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
