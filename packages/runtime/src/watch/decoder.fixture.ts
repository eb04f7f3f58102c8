// Writes what the API server would send, in both encodings, so that the decoders can be held against each other.
import type { KubeObject } from "../client/kind.ts";

type Field = readonly [number: number, value: Uint8Array | number];

/** A protobuf message of these fields. */
export function message(...fields: readonly Field[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const [number, value] of fields) {
    if (typeof value === "number") parts.push(varint(number * 8), varint(value));
    else parts.push(varint(number * 8 + 2), varint(value.length), value);
  }
  return Buffer.concat(parts);
}

const text = (value: string): Buffer => Buffer.from(value, "utf8");

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

const mapFields = (number: number, map: Readonly<Record<string, string>> | undefined, encode: (value: string) => Buffer = text): Field[] =>
  Object.entries(map ?? {}).map(([key, value]) => [number, message([1, text(key)], [2, encode(value)])]);

/** What the generated objects are made of. */
export interface SecretLike extends KubeObject {
  readonly metadata: KubeObject["metadata"] & { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly immutable?: boolean;
}

function metadata({ metadata: meta }: SecretLike): Buffer {
  return message(
    [1, text(meta.name)],
    [2, text(meta.generateName ?? "")],
    [3, text(meta.namespace ?? "")],
    [5, text(meta.uid)],
    [6, text(meta.resourceVersion)],
    [7, meta.generation ?? 0],
    [8, message([1, Date.parse(meta.creationTimestamp ?? "") / 1000], [2, 0])],
    ...(meta.deletionTimestamp ? [[9, message([1, Date.parse(meta.deletionTimestamp) / 1000], [2, 0])] as const] : []),
    ...(meta.deletionGracePeriodSeconds === undefined ? [] : [[10, meta.deletionGracePeriodSeconds] as const]),
    ...mapFields(11, meta.labels),
    ...mapFields(12, meta.annotations),
    ...(meta.ownerReferences ?? []).map((owner): Field => {
      const flags: Field[] = [];
      if (owner.controller !== undefined) flags.push([6, Number(owner.controller)]);
      if (owner.blockOwnerDeletion !== undefined) flags.push([7, Number(owner.blockOwnerDeletion)]);
      return [13, message([1, text(owner.kind)], [3, text(owner.name)], [4, text(owner.uid)], [5, text(owner.apiVersion)], ...flags)];
    }),
    ...(meta.finalizers ?? []).map((finalizer): Field => [14, text(finalizer)]),
    [17, message([1, text("some-manager")], [7, message([1, text('{"f:data":{}}')])])],
  );
}

/** A Secret as protobuf has it, without envelope. */
export function secretMessage(secret: SecretLike): Buffer {
  return message(
    [1, metadata(secret)],
    ...mapFields(2, secret.data, (value) => Buffer.from(value, "base64")),
    [3, text(secret.type ?? "")],
    ...(secret.immutable === undefined ? [] : [[5, Number(secret.immutable)] as const]),
  );
}

/** `message` in the envelope that names its kind. */
export function envelope(kind: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from("k8s\0"), message([1, message([1, text("v1")], [2, text(kind)])], [2, content], [3, text("")], [4, text("")])]);
}

/** One frame of a protobuf watch. */
export function protobufFrame(type: string, object: Buffer): Buffer {
  const content = message([1, text(type)], [2, message([1, object])]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
}

/** One line of a JSON watch; managed fields are added as the server would. */
export function jsonLine(type: string, object: SecretLike): Buffer {
  const { metadata, ...rest } = object;
  const managedFields = [{ manager: "some-manager", fieldsV1: { "f:data": {} } }];
  return Buffer.from(`${JSON.stringify({ type, object: { ...rest, metadata: { ...metadata, managedFields } } })}\n`);
}

/** Cuts `bytes` at the given places, each a fraction of the whole. */
export function cutInto(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end));
}
