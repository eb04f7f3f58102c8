import { Buffer } from "node:buffer";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { limits } from "../../limits.ts";
import { changesOf, covers, joinedDigest } from "../../workloads/restart-digest.ts";
import {
  boundedEntries,
  changedInWords,
  changeDigests,
  contentOfMounts,
  entryDigest,
  keepConfigMap,
  keepMount,
  keepSecret,
  ownerDigest,
  readNames,
  readStartedWith,
  saysStartedWith,
  startedWithText,
} from "./content.ts";

const key = new Uint8Array(32).fill(1);
const stored = { metadata: { namespace: "n", name: "db", uid: "u", resourceVersion: "1" } };
const secret = (texts: Readonly<Record<string, string>>, annotations = {}) => ({
  metadata: { ...stored.metadata, annotations },
  data: Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString("base64")])),
});
const followed = (name: string | undefined, more = {}) => ({
  kind: "Secret" as const,
  name: "db",
  key: name,
  optional: false,
  onlyIfMatched: false,
  ...more,
});
const digest = (texts: Readonly<Record<string, string>>, of = followed(undefined), annotations = {}): string | undefined =>
  entryDigest(key, "n", of, keepSecret(secret(texts, annotations)));

describe("a digest", () => {
  test("is of the content alone, whatever else is written on the object and in whichever order", () => {
    expect(digest({ a: "1", b: "2" }, followed(undefined), { note: "x" })).toBe(digest({ b: "2", a: "1" }));
    expect(digest({ a: "1" })).not.toBe(digest({ a: "2" }));
    expect(digest({ a: "1" })).not.toBe(digest({ b: "1" }));
  });

  test("of a key, is of that key alone", () => {
    expect(digest({ a: "1", b: "2" }, followed("a"))).toBe(digest({ a: "1", b: "3" }, followed("a")));
    expect(digest({ a: "1" }, followed("a"))).not.toBe(digest({ a: "2" }, followed("a")));
    // Not of one whose name begins like it.
    expect(digest({ a: "1", "a=b": "2" }, followed("a"))).toBe(digest({ a: "1" }, followed("a")));
  });

  test("of what is not there: none if pods wait for it, one of its own if they do not", () => {
    expect(digest({}, followed("a"))).toBeUndefined();
    expect(digest({}, followed("a", { optional: true }))).toBe("-");
    expect(entryDigest(key, "n", followed(undefined), undefined)).toBeUndefined();
    expect(entryDigest(key, "n", followed(undefined, { optional: true }), undefined)).toBe("-");
  });

  test("none of what is to be ignored, or is searched and not marked", () => {
    expect(digest({ a: "1" }, followed("a"), { "reloader.stakater.com/ignore": "true" })).toBeUndefined();
    expect(digest({ a: "1" }, followed("a", { onlyIfMatched: true }))).toBeUndefined();
    expect(digest({ a: "1" }, followed("a", { onlyIfMatched: true }), { "reloader.stakater.com/match": "true" })).toBeDefined();
  });

  test("needs the installation's key: nobody finds a PIN by trying", () => {
    const other = new Uint8Array(32).fill(2);
    expect(entryDigest(other, "n", followed("a"), keepSecret(secret({ a: "123456" })))).not.toBe(digest({ a: "123456" }, followed("a")));
    expect(entryDigest(key, "m", followed("a"), keepSecret(secret({ a: "123456" })))).not.toBe(digest({ a: "123456" }, followed("a")));
  });

  test("of a ConfigMap tells text from bytes", () => {
    const [text, bytes] = [keepConfigMap({ ...stored, data: { a: "eA==" } }), keepConfigMap({ ...stored, binaryData: { a: "eA==" } })];
    expect(text).not.toBe(bytes);
  });
});

test("what is kept of a Secret that nobody uses takes no more than its keys' names and 33 characters each", () => {
  expect(keepSecret(secret({ password: "x".repeat(100_000), user: "y" })).length).toBeLessThan(90);
});

test("what a store gives is known when all pods have mounted the same", () => {
  const mount = (version: string) =>
    keepMount({ ...stored, status: { secretProviderClassName: "vault", objects: [{ id: "secret/db", version }] } }).content;
  expect(contentOfMounts([mount("1"), mount("1")])).toBe(mount("1"));
  expect(contentOfMounts([mount("1"), mount("2")])).toBeUndefined();
  expect(contentOfMounts([])).toBeUndefined();
});

describe("the annotation", () => {
  const entries = new Map([
    ["secret/db/password", "aa"],
    ["configmap/conf", "-"],
  ]);

  const owner = ownerDigest(key, "uid");

  test("is read as it was written, with marks of what is behind and of what was only seen", () => {
    const text = startedWithText({ owner, entries, behind: ["secret/db/password"], onlySeen: ["configmap/conf"] });
    expect(text).toBe(`of=${owner},configmap/conf=-?,secret/db/password=aa!`);
    expect(readStartedWith(text, owner)).toEqual({ entries, onlySeen: ["configmap/conf"], behind: ["secret/db/password"], count: 0 });
    expect(readStartedWith(startedWithText({ owner, entries, count: 3 }), owner)).toMatchObject({ entries, count: 3 });
    for (const odd of ["-1", "x", "1e400", "", "1.5"]) expect(readStartedWith(`of=${owner}.${odd},a=1`, owner)?.count).toBeLessThanOrEqual(1);
    expect(readNames(text)).toEqual({ names: ["configmap/conf", "secret/db/password"], behind: ["secret/db/password"] });
    expect(readNames(startedWithText({ owner, entries })).behind).toEqual([]);
  });

  test("of another workload, or by another key, says nothing", () => {
    const text = startedWithText({ owner, entries });
    expect(readStartedWith(text, ownerDigest(key, "other"))).toBeUndefined();
    expect(readStartedWith(text, ownerDigest(new Uint8Array(32).fill(2), "uid"))).toBeUndefined();
    expect(saysStartedWith(text, "secret/db/password", "aa")).toBe(true);
    expect(saysStartedWith(text, "secret/db/password", "bb")).toBe(false);
    expect(saysStartedWith(startedWithText({ owner, entries, onlySeen: [...entries.keys()] }), "secret/db/password", "aa")).toBe(false);
  });

  test("may have been written by anybody", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        const { entries: read } = readStartedWith(`of=${owner},${text}`, owner) ?? { entries: new Map() };
        expect(read.size <= limits.followedEntries && Array.isArray(readNames(text).behind)).toBe(true);
      }),
    );
    expect(readStartedWith(`of=${owner},${"a=1,".repeat(100_000)}`, owner)?.entries.size).toBe(1);
    expect(readStartedWith(undefined, owner)).toBeUndefined();
  });

  test.each([501, limits.followedEntries])("has %i entries with names as long as can be, each for itself", (count) => {
    const names = Array.from({ length: count }, (_, index) => `secret/${"n".repeat(240)}${index}/${"k".repeat(240)}`);
    const all = new Map(names.map((name, index) => [name, index.toString(16).padStart(16, "0")]));
    const text = startedWithText({ owner, entries: boundedEntries(all, key), behind: names.slice(0, 1), onlySeen: names.slice(1, 2) });
    expect(text.length).toBeLessThan(150_000);
    expect(readStartedWith(text, owner, names)).toEqual({ entries: all, behind: names.slice(0, 1), onlySeen: names.slice(1, 2), count: 0 });
    expect(saysStartedWith(text, names[2] ?? "", "2".padStart(16, "0"))).toBe(true);
  });

  test("has one digest for more than it can hold", () => {
    const many = new Map(Array.from({ length: limits.followedEntries + 1 }, (_, index) => [`secret/s${index}`, "a"]));
    expect([...boundedEntries(many, key).keys()]).toEqual(["all"]);
    expect(boundedEntries(entries, key)).toBe(entries);
  });
});

test("changes are named by what has changed, each for itself however many there are", () => {
  const now = new Map([
    ["secret/db/password", "bb"],
    ["secret/db/user", "cc"],
  ]);
  const [change, ...others] = changeDigests(["secret/db/password", "secret/db/user"], now, key);
  expect([change?.names, others]).toEqual([["secret/db/password", "secret/db/user"], []]);
  expect(change?.digest).toMatch(/^consumers:secret\/db@[0-9a-f]{16}$/);
  const names = Array.from({ length: limits.namedChanges + 1 }, (_, index) => `secret/s${index}`);
  const many = changeDigests(names, now, key);
  expect(many.map((each) => each.names)).toEqual(names.toSorted().map((name) => [name]));
  // Whoever uses one of them has the same change, however it is written.
  const [one] = changeDigests(["secret/s7"], now, key);
  expect(many.some(({ digest }) => covers(one?.digest, digest) && covers(digest, one?.digest ?? ""))).toBe(true);
  const changes = changesOf({ namespace: "n" }, joinedDigest(many.map(({ digest }) => digest)));
  expect(changes).toEqual(expect.arrayContaining([...changesOf({ namespace: "n" }, one?.digest ?? "")]));
  expect(changedInWords(["secret/db/password", "configmap/conf"])).toBe("password of secret db has changed, configmap conf has changed");
  expect(changedInWords(names)).toMatch(/secret s4 has changed, and 16 more$/);
});
