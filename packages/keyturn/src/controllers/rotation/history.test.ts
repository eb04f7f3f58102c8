// Version records: what is written is what is read, and damage is noticed.
import { deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { suspectedRecordOf } from "./annotations.ts";
import { logAnnotation, versionAnnotation } from "./api.ts";
import { digestOf } from "./content.ts";
import {
  contentOfRecord,
  ownerReferenceOf,
  parseLog,
  recordAnnotationsOf,
  recordName,
  recordSecret,
  recordStem,
  type RotationLog,
} from "./history.ts";
import { limits } from "../../limits.ts";

const log: RotationLog = {
  source: { state: "present", uid: "u1", sinceMs: 1000 },
  commits: [
    { seq: 1, digest: "d1", departedMs: 900, at: { live: 100, older: 200 } },
    { seq: 3, digest: "d3", at: { live: 950 } },
  ],
  frozen: [{ fromMs: 10, toMs: 20 }],
  backfilled: ["older"],
};
const content = { apiVersion: "v1", kind: "Secret", content: { type: "Opaque", data: { key: "cGxhbnRlZC1zZWNyZXQ=" } } };
const digest = digestOf(content.content);
const write = { verb: "createRecord", seq: 4, resource: "secrets", watchDigest: "w4", digest, seenAtMs: 1234, log, owners: ["t1"] } as const;
const record = recordSecret({ namespace: "shop", set: "my-key" }, write, {
  content,
  owners: [ownerReferenceOf({ name: "live", uid: "t1" })],
  seal: undefined,
});
const name = { namespace: "shop", name: "my-key-4" };

test("a record is read as it was written", () => {
  expect(record.metadata.name).toBe("my-key-4");
  expect(record.immutable).toBe(true);
  expect(contentOfRecord(record, name)).toEqual(content);
  const annotations = recordAnnotationsOf(record);
  expect(annotations).toMatchObject({ set: "my-key", seq: 4, resource: "secrets", watchDigest: "w4", digest, seenAtMs: 1234, owners: ["t1"] });
  expect(parseLog(annotations?.log ?? "")).toEqual(log);
});

test("nothing of the content is in the metadata", () => {
  expect(JSON.stringify(record.metadata)).not.toMatch(/planted|cGxhbnRlZC1/);
});

test("a log that somebody damaged is none", () => {
  const withSeq = (seq: number): string => JSON.stringify({ ...log, commits: [{ seq, digest: "d", at: {} }] });
  const withTime = (toMs: number): string => JSON.stringify({ ...log, frozen: [{ fromMs: 0, toMs }] });
  for (const text of [
    "",
    "{",
    "{}",
    JSON.stringify({ ...log, commits: [{ seq: "1" }] }),
    withSeq(2 ** 53 - 1),
    withSeq(0),
    withTime(1e16),
    withTime(-1),
  ])
    expect(parseLog(text)).toBeUndefined();
});

test("a content that cannot be read is an error that shows nothing of it", () => {
  for (const damaged of ["", "AAAA", Buffer.from("planted-secret").toString("base64")]) {
    expect(() => contentOfRecord({ ...record, data: { content: damaged } }, name)).toThrow(
      /^version record shop\/my-key-4 cannot be read: delete it/,
    );
  }
});

test("a record that unpacks to more than any version is damaged, and so is one with another content than it says", () => {
  const packed = (text: string): Readonly<Record<string, string>> => ({ content: deflateRawSync(text).toString("base64") });
  const padded = (bytes: number): string => JSON.stringify(content).padEnd(bytes);
  expect(contentOfRecord({ ...record, data: packed(padded(limits.versionBytes)) }, name)).toEqual(content);
  for (const text of [padded(limits.versionBytes + 1), JSON.stringify({ ...content, content: { type: "Opaque", data: { key: "b3RoZXI=" } } })])
    expect(() => contentOfRecord({ ...record, data: packed(text) }, name)).toThrow(/^version record shop\/my-key-4 cannot be read: delete it/);
  const nested = JSON.stringify(content).replace('"Opaque"', `${"[".repeat(1e6)}${"]".repeat(1e6)}`);
  expect(() => contentOfRecord({ ...record, data: packed(nested) }, name)).toThrow(/cannot be read/);
});

test("other Secrets are no records, whatever annotations they have", () => {
  expect(recordAnnotationsOf({ metadata: { ...record.metadata, labels: {} } })).toBeUndefined();
  expect(recordAnnotationsOf({ metadata: { ...record.metadata, annotations: { [logAnnotation]: "{}" } } })).toBeUndefined();
  // A copy under another name, and a number that is no version.
  expect(recordAnnotationsOf({ metadata: { ...record.metadata, name: "my-key-5" } })).toBeUndefined();
  const huge = { ...record.metadata.annotations, [versionAnnotation]: "9007199254740991" };
  expect(recordAnnotationsOf({ metadata: { ...record.metadata, name: "my-key-9007199254740991", annotations: huge } })).toBeUndefined();
});

describe("a record that somebody has taken something from", () => {
  const { metadata } = record;
  const without = (values: Readonly<Record<string, string>> | undefined, name: string): Record<string, string> =>
    Object.fromEntries(Object.entries(values ?? {}).filter(([other]) => other !== name));

  test("is suspected whichever of its labels and annotations is gone or wrong, and also with none of them", () => {
    for (const name of Object.keys(metadata.labels ?? {}))
      expect(suspectedRecordOf({ metadata: { ...metadata, labels: without(metadata.labels, name) } })).toEqual({ stem: "my-key", set: "my-key" });
    // What an unreadable log means is for the plan to say.
    for (const name of Object.keys(metadata.annotations ?? {}).filter((other) => other !== logAnnotation))
      for (const annotations of [without(metadata.annotations, name), { ...metadata.annotations, [name]: "" }])
        expect(suspectedRecordOf({ metadata: { ...metadata, annotations } })).toEqual({ stem: "my-key", set: "my-key" });
    expect(suspectedRecordOf({ metadata: { ...metadata, labels: {}, annotations: {} } })).toEqual({ stem: "my-key", set: "my-key" });
  });

  test("a record that is whole, a copy under a name that no record has, and other Secrets are not", () => {
    expect(suspectedRecordOf(record)).toBeUndefined();
    expect(suspectedRecordOf({ metadata: { ...metadata, name: "my-key-4-backup" } })).toBeUndefined();
    expect(suspectedRecordOf({ metadata: { name: "my-key-4" } })).toBeUndefined();
  });

  test("of a set whose name is none is found by the stem", () => {
    const odd = recordSecret({ namespace: "shop", set: "My_Key" }, write, { content, owners: [], seal: undefined }).metadata;
    const suspected = suspectedRecordOf({ metadata: { ...odd, labels: without(odd.labels, "rotator.k8s.telekom.com/rotation-set") } });
    expect(suspected?.stem).toBe(recordStem("My_Key"));
  });
});

test("every set has names for its records, and no two sets share one", () => {
  expect(recordName("my-key", 12)).toBe("my-key-12");
  const odd = ["My-Key", "my_key", "my.key", "MY-KEY"].map((set) => recordName(set, 1));
  for (const each of odd) expect(each).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
  expect(new Set(odd).size).toBe(odd.length);
});
