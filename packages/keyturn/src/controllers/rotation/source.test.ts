// What of a source makes a version, and when it was written.
import { randomBytes } from "node:crypto";
import type { KubeObject, Secret } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { sourceAnnotation } from "./api.ts";
import type { RotationLog } from "./history.ts";
import { readSource, stepSource } from "./source.ts";
import { limits } from "../../limits.ts";

const whole = { watchPath: undefined, rotatePath: undefined };

function secret(data: Readonly<Record<string, string>>, metadata: KubeObject["metadata"] = {}): Secret & { readonly status: object } {
  return { apiVersion: "v1", kind: "Secret", metadata: { name: "key", ...metadata }, type: "kubernetes.io/tls", data, status: { phase: "x" } };
}

const digestsOf = (object: KubeObject, paths: Parameters<typeof readSource>[2]): unknown => readSource(object, "secrets", paths).content;

test("the whole resource is everything but metadata and status", () => {
  const { payload } = readSource(secret({ a: "1" }), "secrets", whole);
  expect(payload).toEqual({ type: "kubernetes.io/tls", data: { a: "1" } });
});

test("a change of metadata alone makes no version", () => {
  expect(digestsOf(secret({ a: "1" }, { labels: { x: "y" }, annotations: { z: "1" } }), whole)).toEqual(digestsOf(secret({ a: "1" }), whole));
});

test("the order of keys makes no version", () => {
  expect(digestsOf(secret({ a: "1", b: "2" }), whole)).toEqual(digestsOf(secret({ b: "2", a: "1" }), whole));
});

test("watch-path decides what makes a version, rotate-path what it consists of", () => {
  const paths = { watchPath: ".data.a", rotatePath: ".data" };
  const [one, other] = [readSource(secret({ a: "1", b: "2" }), "secrets", paths), readSource(secret({ a: "1", b: "3" }), "secrets", paths)];
  expect(one.payload).toEqual({ type: "Opaque", data: { a: "1", b: "2" } });
  expect(one.content.ok && other.content.ok && one.content.watchDigest === other.content.watchDigest).toBe(true);
  expect(one.content.ok && other.content.ok && one.content.digest === other.content.digest).toBe(false);
});

test("rotate-path defaults to watch-path", () => {
  expect(readSource(secret({ "tls.crt": "1", b: "2" }), "secrets", { watchPath: ".data['tls.crt']", rotatePath: undefined }).payload).toEqual({
    type: "Opaque",
    data: { "tls.crt": "1" },
  });
});

test.each([
  [{ watchPath: ".data.missing", rotatePath: undefined }, "PathNotFound", "there is nothing at .data.missing in secrets/key"],
  [{ watchPath: ".data.a", rotatePath: ".spec" }, "PathNotFound", "there is nothing at .spec in secrets/key"],
  [{ watchPath: "data", rotatePath: undefined }, "InvalidPath", /watch-path: "data" is no path/],
  [{ watchPath: ".data", rotatePath: ".metadata.labels" }, "InvalidPath", /\.metadata belongs to the object itself/],
])("%o is refused with a reason", (paths, reason, message) => {
  expect(digestsOf(secret({ a: "1" }), paths)).toMatchObject({ ok: false, reason, message: expect.stringMatching(message) });
});

test("a megabyte of random bytes still fits; what cannot fit is refused without being shown", () => {
  const filled = (bytes: number): KubeObject => secret({ key: randomBytes(bytes).toString("base64") });
  expect(digestsOf(filled(1_000_000), whole)).toMatchObject({ ok: true });
  expect(digestsOf(filled(1_100_000), whole)).toMatchObject({
    ok: false,
    reason: "ContentTooLarge",
    message: expect.stringMatching(/^a version of \d+ bytes does not fit/),
  });
});

test("what packs well is refused as soon as its record could not be unpacked again", () => {
  const filled = (bytes: number): KubeObject => secret({ key: "a".repeat(bytes) });
  expect(digestsOf(filled(limits.versionBytes - 8192), whole)).toMatchObject({ ok: true });
  expect(digestsOf(filled(limits.versionBytes), whole)).toMatchObject({ ok: false, reason: "ContentTooLarge" });
});

test("the time of the write is that of the last manager who owns something watched, to the end of its second", () => {
  const managedFields = [
    { manager: "kubectl", time: "2026-01-01T00:00:05Z", fieldsV1: { "f:data": { ".": {}, "f:a": {} }, "f:type": {} } },
    { manager: "renewer", time: "2026-01-01T00:00:09Z", fieldsV1: { "f:data": { "f:b": {} } } },
    { manager: "labeller", time: "2026-01-01T00:00:20Z", fieldsV1: { "f:metadata": { "f:labels": {} } } },
  ];
  const at = (paths: Parameters<typeof readSource>[2]): string | undefined => {
    const { writtenAtMs } = readSource(secret({ a: "1", b: "2" }, { managedFields }), "secrets", paths);
    return writtenAtMs === undefined ? undefined : new Date(writtenAtMs).toISOString();
  };
  expect(at(whole)).toBe("2026-01-01T00:00:10.000Z");
  expect(at({ watchPath: ".data.a", rotatePath: undefined })).toBe("2026-01-01T00:00:06.000Z");
  expect(readSource(secret({ a: "1" }), "secrets", whole).writtenAtMs).toBeUndefined();
  // Until it was marked it was no source.
  for (const kind of ["f:annotations", "f:labels"]) {
    const marked = {
      manager: "kubectl-annotate",
      time: "2026-01-01T00:00:30Z",
      fieldsV1: { "f:metadata": { [kind]: { [`f:${sourceAnnotation}`]: {} } } },
    };
    const { writtenAtMs = 0 } = readSource(secret({ a: "1" }, { managedFields: [...managedFields, marked] }), "secrets", whole);
    expect(new Date(writtenAtMs).toISOString()).toBe("2026-01-01T00:00:31.000Z");
  }
});

test("a source that could not be read has been what it is since it can be: when it was written says nothing of that", () => {
  const log: RotationLog = { source: { state: "unreadable", sinceMs: 1000 }, commits: [], frozen: [], backfilled: [] };
  const source = { resource: "secrets", name: "key", uid: "u", writtenAtMs: 2000, content: { ok: true, watchDigest: "w", digest: "d" } } as const;
  const observedSource = { type: "present", source, watchDigest: "w", digest: "d" } as const;
  const sinceOf = (before: RotationLog): number =>
    stepSource(before, { seq: 1, watchDigest: "w" }, { observedSource, nowMs: 60_000 }).log.source.sinceMs;
  expect(sinceOf(log)).toBe(60_000);
  expect(sinceOf({ ...log, source: { state: "gone", sinceMs: 1000 } })).toBe(2000);
});
