// Objects in protobuf with as many members as their writers like.
import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { decodeProtobufStatus, readMetadataOnly } from "./protobuf-objects.ts";
import { blockField, ProtobufReader } from "./protobuf-reader.ts";

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}

const field = (number: number, content: Buffer): Buffer => Buffer.concat([varint(blockField(number)), varint(content.length), content]);
const text = (number: number, content: string): Buffer => field(number, Buffer.from(content));
const times = (count: number, part: Buffer): Buffer => Buffer.concat(Array.from({ length: count }, () => part));

function metadataOf(meta: Buffer) {
  const reader = new ProtobufReader();
  const object = field(1, meta);
  reader.open(object, 0, object.length);
  return readMetadataOnly(reader, object.length).metadata;
}

const owner = field(13, Buffer.concat([text(1, "ConfigMap"), text(3, "o"), text(4, "u"), text(5, "v1")]));
const finalizer = text(14, "a/b");
const cause = (field: string): Buffer => Buffer.concat([text(2, "no"), text(3, field)]);
const status = (causes: Buffer): Buffer => Buffer.concat([Buffer.from("k8s\0"), field(1, text(2, "Status")), field(2, field(5, causes))]);

test("owners, finalizers and causes are read in their order", () => {
  const meta = metadataOf(Buffer.concat([owner, text(14, "first/a"), text(14, "second/b"), owner]));
  expect(meta.finalizers).toEqual(["first/a", "second/b"]);
  expect(meta.ownerReferences).toEqual(Array.from({ length: 2 }, () => ({ apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u" })));
  const causes = decodeProtobufStatus(status(Buffer.concat([field(4, cause("a")), field(4, cause("b"))])))?.details?.causes;
  expect(causes).toEqual([
    { message: "no", field: "a" },
    { message: "no", field: "b" },
  ]);
});

/** The CPU time of the fastest of some runs: what else the machine does counts for none of them. */
function cpuMsOf(work: () => void): number {
  const runs = Array.from({ length: 5 }, () => {
    const before = process.threadCpuUsage();
    work();
    const after = process.threadCpuUsage();
    return (after.user - before.user + after.system - before.system) / 1000;
  });
  return Math.min(...runs);
}

/** In the API server's own storage 1.5 MiB hold 300,000 finalizers. */
test.each<readonly [string, (count: number) => () => unknown]>([
  [
    "finalizers",
    (count) =>
      (
        (meta) => () =>
          metadataOf(meta)
      )(times(count, finalizer)),
  ],
  [
    "owners",
    (count) =>
      (
        (meta) => () =>
          metadataOf(meta)
      )(times(count, owner)),
  ],
  [
    "causes of a refusal",
    (count) =>
      (
        (body) => () =>
          decodeProtobufStatus(body)
      )(status(times(count, field(4, cause("a"))))),
  ],
])("%s take as long in one object as in sixteen", (_what, reading) => {
  const [few, many] = [reading(5000), reading(80_000)];
  // In the square of their number it would be sixteen times as long.
  expect(cpuMsOf(many)).toBeLessThan(
    5 *
      cpuMsOf(() => {
        for (let times = 0; times < 16; times++) few();
      }) +
      40,
  );
});
