// The decoders: the same objects from JSON and protobuf, however the bytes are cut, and nothing of the bytes in errors.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SecretLike } from "./decoder.fixture.ts";
import { cutInto, envelope, jsonLine, message, protobufFrame, secretMessage } from "./decoder.fixture.ts";
import {
  decodeJsonPage,
  decodeProtobufPage,
  finishMetadata,
  finishWhole,
  JsonWatchDecoder,
  ProtobufWatchDecoder,
  type WatchDecoder,
  type WireEvent,
} from "./decoders.ts";
import { defaultWatchLimits } from "./watch-limits.ts";
import { decodeProtobufStatus, protobufObjectReader, readMetadataOnly } from "../wire/protobuf-objects.ts";
import { WireError } from "../wire/protobuf-reader.ts";

const readSecret = protobufObjectReader({ group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true }) ?? readMetadataOnly;
const { maxEventBytes } = defaultWatchLimits;
const secretType = { apiVersion: "v1", kind: "Secret" };

const word = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20 }),
  fc.constantFrom("app", "app.kubernetes.io/name", "__proto__", "ключ", "名前🔑"),
  fc.string({ minLength: 60, maxLength: 70 }),
);
const wellFormed = fc.string({ unit: "grapheme", minLength: 0, maxLength: 30 });
const map = (value: fc.Arbitrary<string>): fc.Arbitrary<Record<string, string>> =>
  fc.array(fc.tuple(word, value), { minLength: 1, maxLength: 4 }).map((entries) => Object.fromEntries(entries));
const date = fc.date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true }).map((at) => `${at.toISOString().slice(0, 19)}Z`);
const base64 = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const owner = fc.record(
  { apiVersion: word, kind: word, name: word, uid: word, controller: fc.boolean(), blockOwnerDeletion: fc.boolean() },
  { requiredKeys: ["apiVersion", "kind", "name", "uid"] },
);
const metadata = fc.record(
  {
    name: word,
    uid: fc.uuid(),
    resourceVersion: fc.nat().map(String),
    creationTimestamp: date,
    namespace: word,
    generateName: word,
    generation: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    deletionTimestamp: date,
    deletionGracePeriodSeconds: fc.nat(),
    labels: map(wellFormed),
    annotations: map(wellFormed),
    ownerReferences: fc.array(owner, { minLength: 1, maxLength: 2 }),
    finalizers: fc.array(word, { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: ["name", "uid", "resourceVersion", "creationTimestamp"] },
);
const secret: fc.Arbitrary<SecretLike> = fc
  .record({ metadata, data: map(base64), type: word, immutable: fc.boolean() }, { requiredKeys: ["metadata"] })
  .map((fields) => Object.assign({}, secretType, fields) as SecretLike);
const type = fc.constantFrom("ADDED", "MODIFIED", "DELETED");
const events = fc.array(fc.tuple(type, secret), { maxLength: 8 });
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 });

function decodeAll(decoder: WatchDecoder, chunks: readonly Buffer[]): WireEvent[] {
  const decoded: WireEvent[] = [];
  for (const chunk of chunks) {
    decoder.push(chunk);
    for (let event = decoder.next(); event; event = decoder.next()) decoded.push(event);
  }
  return decoded;
}

/** What `act` throws, or undefined. */
function failureOf(act: () => void): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("watch decoders", () => {
  it("give back what was sent, without managedFields, wherever the bytes are cut", () => {
    fc.assert(
      fc.property(events, cuts, (events, cuts) => {
        const expected = events.map(([type, object]) => ({ type: type.toLowerCase(), object }));
        const json = Buffer.concat(events.map(([type, object]) => jsonLine(type, object)));
        const protobuf = Buffer.concat(events.map(([type, object]) => protobufFrame(type, envelope("Secret", secretMessage(object)))));
        expect(decodeAll(new JsonWatchDecoder(finishWhole(secretType), maxEventBytes), cutInto(json, cuts))).toEqual(expected);
        expect(decodeAll(new ProtobufWatchDecoder(readSecret, maxEventBytes), cutInto(protobuf, cuts))).toEqual(expected);
      }),
    );
  });

  it("give the metadata alone when that was asked for", () => {
    fc.assert(
      fc.property(secret, (object) => {
        const expected = [{ type: "added", object: { metadata: object.metadata } }];
        expect(decodeAll(new JsonWatchDecoder(finishMetadata, maxEventBytes), [jsonLine("ADDED", object)])).toEqual(expected);
        const frame = protobufFrame("ADDED", envelope("Secret", secretMessage(object)));
        expect(decodeAll(new ProtobufWatchDecoder(readMetadataOnly, maxEventBytes), [frame])).toEqual(expected);
      }),
    );
  });

  it("give back lists", () => {
    fc.assert(
      fc.property(fc.array(secret, { maxLength: 5 }), fc.option(fc.string({ minLength: 1 }), { nil: undefined }), (items, token) => {
        const json = {
          kind: "SecretList",
          metadata: { resourceVersion: "7", continue: token },
          items: items.map((item) => ({ ...item, kind: undefined, apiVersion: undefined })),
        };
        const listMeta = message([1, Buffer.alloc(0)], [2, Buffer.from("7")], [3, Buffer.from(token ?? "")], [4, 12]);
        const protobuf = envelope("SecretList", message([1, listMeta], ...items.map((item) => [2, secretMessage(item)] as const)));
        for (const page of [decodeJsonPage(Buffer.from(JSON.stringify(json)), finishWhole(secretType)), decodeProtobufPage(protobuf, readSecret)]) {
          expect(page).toMatchObject({ resourceVersion: "7", continue: token });
          expect([...page.objects]).toEqual(items);
        }
      }),
    );
  });

  it("read bookmarks and errors alike", () => {
    const annotations = { "k8s.io/initial-events-end": "true" };
    const mark: SecretLike = { ...secretType, metadata: { name: "", uid: "", resourceVersion: "42", annotations } };
    const status = message([2, Buffer.from("Failure")], [3, Buffer.from("too old")], [4, Buffer.from("Expired")], [5, message([5, 3])], [6, 410]);
    const protobuf = [
      protobufFrame(
        "BOOKMARK",
        envelope("Secret", secretMessage({ ...mark, metadata: { ...mark.metadata, creationTimestamp: "1970-01-01T00:00:00Z" } })),
      ),
    ];
    protobuf.push(protobufFrame("ERROR", envelope("Status", status)));
    const body = { kind: "Status", status: "Failure", message: "too old", reason: "Expired", details: { retryAfterSeconds: 3 }, code: 410 };
    const json = [jsonLine("BOOKMARK", mark), Buffer.from(`${JSON.stringify({ type: "ERROR", object: body })}\n`)];
    const expected = [
      { type: "bookmark", resourceVersion: "42", endOfInitialEvents: true },
      { type: "error", status: body },
    ];
    expect(decodeAll(new ProtobufWatchDecoder(readSecret, maxEventBytes), protobuf)).toEqual(expected);
    expect(decodeAll(new JsonWatchDecoder(finishWhole(secretType), maxEventBytes), json)).toEqual(expected);
    expect(decodeProtobufStatus(envelope("Status", status))).toEqual(body);
  });

  it("fail on bytes that make no sense, with nothing but a WireError that does not quote them", () => {
    fc.assert(
      fc.property(
        secret,
        fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 5 }),
        (object, damages) => {
          const frames = [protobufFrame("ADDED", envelope("Secret", secretMessage(object))), jsonLine("ADDED", object)];
          const decoders = [new ProtobufWatchDecoder(readSecret, maxEventBytes), new JsonWatchDecoder(finishWhole(secretType), maxEventBytes)];
          const failures: unknown[] = [];
          frames.forEach((frame, i) => {
            for (const [place, byte] of damages) frame[4 + Math.floor(place * (frame.length - 5))] = byte;
            failures.push(failureOf(() => decodeAll(decoders[i] ?? new JsonWatchDecoder(finishMetadata, maxEventBytes), [frame])));
          });
          expect(failures.filter((failure) => failure !== undefined && !(failure instanceof WireError))).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
    const planted = Buffer.from('{"type":"ADDED","object":{"data":{"password":hunter2}}}\n');
    expect(() => decodeAll(new JsonWatchDecoder(finishMetadata, maxEventBytes), [planted])).toThrow(/^json: \d+ characters that are not JSON$/);
  });

  it("fail on JSON of another shape with a WireError: a version that is a number would end the process where versions are compared", () => {
    const object = (metadata: unknown): object => ({ metadata, data: {} });
    const named = { namespace: "ns", name: "a", uid: "u", resourceVersion: "7" };
    const objects = [
      null,
      5,
      [],
      "x",
      object(null),
      object({}),
      object({ ...named, resourceVersion: 7 }),
      object({ ...named, name: 5 }),
      object({ ...named, uid: {} }),
    ];
    const events = [null, 5, [], "ADDED", {}, ...objects.map((each) => ({ type: "ADDED", object: each }))];
    const bookmarks = [{ resourceVersion: 7 }, {}, undefined].map((metadata) => ({ type: "BOOKMARK", object: { metadata } }));
    const isTaken = (event: unknown): boolean => {
      const decoder = new JsonWatchDecoder(finishWhole(secretType), maxEventBytes);
      return !(failureOf(() => decodeAll(decoder, [Buffer.from(`${JSON.stringify(event)}\n`)])) instanceof WireError);
    };
    expect([...events, ...bookmarks].filter(isTaken)).toEqual([]);
    const lists = [
      null,
      5,
      [],
      {},
      { metadata: { resourceVersion: 7 } },
      ...[{}, 5, [null], [5]].map((items) => ({ metadata: { resourceVersion: "7" }, items })),
    ];
    const isTakenAsList = (list: unknown): boolean =>
      !(failureOf(() => [...decodeJsonPage(Buffer.from(JSON.stringify(list)), finishMetadata).objects]) instanceof WireError);
    expect(lists.filter(isTakenAsList)).toEqual([]);
  });

  it("take no more of an event than they may, from its first bytes on in protobuf, and then fail with a typed error", () => {
    const limit = 1_000;
    const tooLong = { code: "AnswerTooLong", part: "event", maxBytes: limit };
    const json = new JsonWatchDecoder(finishMetadata, limit);
    expect(decodeAll(json, [Buffer.alloc(limit, "x")])).toEqual([]);
    expect(() => decodeAll(json, [Buffer.from("x")])).toThrow(expect.objectContaining(tooLong));
    const whole = new JsonWatchDecoder(finishMetadata, limit);
    expect(() => decodeAll(whole, [Buffer.from(`${"x".repeat(limit + 1)}\n`)])).toThrow(expect.objectContaining(tooLong));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(limit + 1);
    expect(() => decodeAll(new ProtobufWatchDecoder(readSecret, limit), [length])).toThrow(expect.objectContaining(tooLong));
  });

  it("take many events at once that are longer together", () => {
    const line = jsonLine("ADDED", { ...secretType, metadata: { name: "a", uid: "u", resourceVersion: "1" } });
    expect(decodeAll(new JsonWatchDecoder(finishMetadata, line.length), [Buffer.concat(Array.from({ length: 50 }, () => line))])).toHaveLength(50);
  });
});

describe("what has no name or no version is refused, in both encodings", () => {
  const whole = { metadata: { name: "a", uid: "u", resourceVersion: "1" } } as SecretLike;
  const without = (member: "name" | "resourceVersion"): SecretLike => ({ ...whole, metadata: { ...whole.metadata, [member]: "" } });
  const decode = (decoder: WatchDecoder, bytes: Buffer): WireEvent | undefined => {
    decoder.push(bytes);
    return decoder.next();
  };
  const inProtobuf = (event: string, object: SecretLike): WireEvent | undefined =>
    decode(new ProtobufWatchDecoder(readSecret, maxEventBytes), protobufFrame(event, envelope("Secret", secretMessage(object))));
  const inJson = (event: string, object: SecretLike): WireEvent | undefined =>
    decode(new JsonWatchDecoder(finishWhole(secretType), maxEventBytes), jsonLine(event, object));

  it.each(["ADDED", "MODIFIED", "DELETED"])("in a watch: %s", (event) => {
    for (const read of [inProtobuf, inJson]) {
      expect(read(event, whole)).toMatchObject({ object: whole });
      for (const member of ["name", "resourceVersion"] as const) expect(() => read(event, without(member))).toThrow("an object without metadata");
    }
    expect(() => decode(new ProtobufWatchDecoder(readSecret, maxEventBytes), protobufFrame(event, Buffer.alloc(0)))).toThrow(WireError);
  });

  it("in a bookmark", () => {
    for (const read of [inProtobuf, inJson])
      expect(() => read("BOOKMARK", without("resourceVersion"))).toThrow("a bookmark without a resourceVersion");
  });

  it("in a page", () => {
    const page = envelope("SecretList", message([1, message([2, Buffer.from("7")])], [2, secretMessage(without("resourceVersion"))]));
    expect(() => [...decodeProtobufPage(page, readSecret).objects]).toThrow("an object without metadata");
    const items = [without("name")];
    const json = Buffer.from(JSON.stringify({ metadata: { resourceVersion: "7" }, items }));
    expect(() => [...decodeJsonPage(json, finishWhole(secretType)).objects]).toThrow("an object without metadata");
  });
});
