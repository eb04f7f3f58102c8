// How sources and targets are known by their metadata.
import type { KubeObject } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { keepAnnotations, withBelievedAnnotations } from "./annotations.ts";
import type { ObjectObservation, RecordObservation, SourceObservation, TargetObservation } from "./observe.ts";

const prefix = "rotator.k8s.telekom.com";
const set = { [`${prefix}/rotation-set`]: "my-key" };
const source = { ...set, [`${prefix}/source`]: "true" };
const object = (metadata: KubeObject["metadata"]): KubeObject => ({ metadata: { name: "x", namespace: "shop", ...metadata } });

test("an object without annotations of ours keeps nothing, and all of them share it", () => {
  const kept = keepAnnotations(object({ labels: { app: "shop" }, annotations: { note: "long ".repeat(1000) } }));
  expect(kept).toEqual({});
  expect(keepAnnotations(object({}))).toBe(kept);
});

test.each([
  ["annotations", { annotations: source }],
  ["labels", { labels: source }],
  ["both", { labels: set, annotations: { [`${prefix}/source`]: "true" } }],
])("a source is known by its %s", (_, metadata) => {
  expect(keepAnnotations(object(metadata)).source).toEqual({ set: "my-key", watchPath: undefined, rotatePath: undefined });
});

test("a source must say that it is one", () => {
  for (const value of ["false", "True", ""])
    expect(keepAnnotations(object({ annotations: { ...source, [`${prefix}/source`]: value } })).source).toBeUndefined();
});

const applied = { [`${prefix}/version`]: "3", [`${prefix}/digest`]: "d3", [`${prefix}/applied-at`]: "2026-01-01T00:00:00.123Z" };
const labels = { "app.kubernetes.io/managed-by": "keyturn" };

test("a target's object is known by our label alone, and what it holds by its annotations", () => {
  const owner = { "keyturn.io/owner": "rotationtargets.rotator.k8s.telekom.com/shop/live" };
  expect(keepAnnotations(object({ annotations: { ...owner, ...applied } })).target).toBeUndefined();
  expect(keepAnnotations(object({ labels, annotations: { ...owner, ...applied } })).target).toEqual({
    owner: "shop/live",
    applied: { seq: 3, digest: "d3", atMs: Date.parse("2026-01-01T00:00:00.123Z") },
    ownerUids: [],
  });
  expect(keepAnnotations(object({ labels, annotations: { ...owner, ...applied, [`${prefix}/version`]: "three" } })).target?.applied).toBeUndefined();
});

test("an annotation says nothing about a target in another namespace", () => {
  const ownedBy = (owner: string): KubeObject =>
    object({ labels, annotations: { "keyturn.io/owner": `rotationtargets.rotator.k8s.telekom.com/${owner}`, ...applied } });
  for (const owner of ["bank/live", "live", "/live", "shop-2/live"]) expect(keepAnnotations(ownedBy(owner))).toEqual({});
  expect(keepAnnotations(ownedBy("shop/live")).target?.owner).toBe("shop/live");
});

test.each(["0", "-1", "1.5", "1e3", "0x10", " 3", "", "03", "1000000000", "9007199254740991", "9".repeat(400)])("%j is no version", (version) => {
  const annotations = { "keyturn.io/owner": "rotationtargets.rotator.k8s.telekom.com/shop/live", ...applied };
  expect(keepAnnotations(object({ labels, annotations: { ...annotations, [`${prefix}/version`]: version } })).target?.applied).toBeUndefined();
});

test("a time that no clock shows is none", () => {
  const annotations = { "keyturn.io/owner": "rotationtargets.rotator.k8s.telekom.com/shop/live", ...applied };
  for (const time of ["+275760-09-13T00:00:00Z", "-000001-01-01T00:00:00Z", "soon"])
    expect(keepAnnotations(object({ labels, annotations: { ...annotations, [`${prefix}/applied-at`]: time } })).target?.applied).toBeUndefined();
});

// Annotations that anybody could have written, and what makes them believable.

const record = (seq: number, resource = "secrets"): RecordObservation => ({
  seq,
  uid: `r${seq}`,
  resourceVersion: "1",
  resource,
  watchDigest: `d${seq}`,
  digest: `d${seq}`,
  seenAtMs: 0,
  log: undefined,
  owners: [],
});

const objectWith = (seq: number, change: Partial<ObjectObservation> = {}): ObjectObservation => ({
  resource: "secrets",
  name: "live",
  uid: "o",
  resourceVersion: "1",
  ours: true,
  applied: { seq, digest: `d${seq}`, atMs: 0 },
  digest: `d${seq}`,
  ownedByTarget: false,
  ...change,
});

const forged = (seq: number, change: Partial<ObjectObservation> = {}): ObjectObservation =>
  objectWith(seq, { applied: { seq, digest: "00", atMs: 0 }, ...change });

function unmarked(change: Partial<ObjectObservation>): ObjectObservation {
  const { applied: _, ...bare } = objectWith(3, change);
  return bare;
}

/** What is left of an object: the version that is believed, `bare` if none is, `left alone` if it is not the target's at all. */
function seen(
  observed: ObjectObservation,
  records: readonly RecordObservation[],
  { objectName = "live", sources = [] }: { readonly objectName?: string; readonly sources?: readonly SourceObservation[] } = {},
): number | "bare" | "left alone" {
  const [kept] = withBelievedAnnotations([{ ...target([observed]), objectName }], { sources, records })[0]?.objects ?? [];
  return kept ? (kept.applied?.seq ?? "bare") : "left alone";
}

function target(objects: readonly ObjectObservation[]): TargetObservation {
  return {
    name: "live",
    uid: "t",
    generation: 1,
    order: 1,
    delayMs: 0,
    deletionMode: "keep",
    whenUnfilled: "Backfill",
    changePolicy: "Settled",
    objectName: "live",
    statusDigest: undefined,
    objects,
  };
}

const records = [record(1), record(3)];

describe("in the target's own place", () => {
  test("a version that is recorded is believed by its record, also where the content was edited", () => {
    expect(seen(objectWith(3), records)).toBe(3);
    expect(seen(objectWith(3, { digest: "edited" }), records)).toBe(3);
  });

  test("an annotation that contradicts the record or the log does not count, and the object is still the target's to repair", () => {
    expect(seen(forged(3), records)).toBe("bare");
    expect(seen(forged(3, { digest: "00" }), records)).toBe("bare");
    const log = { source: { state: "gone", sinceMs: 0 }, commits: [{ seq: 2, digest: "d2", at: {} }], frozen: [], backfilled: [] } as const;
    expect(seen(forged(2, { digest: "00" }), [record(1), { ...record(3), log }])).toBe("bare");
    expect(seen(objectWith(2), [record(1), { ...record(3), log }])).toBe(2);
  });

  test("a version whose record is lost is believed by the content", () => {
    expect(seen(objectWith(2), records)).toBe(2);
    expect(seen(objectWith(2, { digest: "edited" }), records)).toBe("bare");
    expect(seen(objectWith(5), [])).toBe(5);
  });

  test("a version above all records is believed only with a content that the source or a record knows", () => {
    expect(seen(objectWith(500), records)).toBe("bare");
    const source = { resource: "secrets", name: "latest", uid: "s", content: { ok: true, watchDigest: "w", digest: "d4" } } as const;
    expect(seen(objectWith(4), records, { sources: [source] })).toBe(4);
    expect(seen(objectWith(4, { digest: "edited" }), records, { sources: [source] })).toBe("bare");
    expect(seen(objectWith(500), records, { sources: [source] })).toBe("bare");
  });

  test("nothing was written at a time that is still to come", () => {
    const known = { sources: [], records, latestMs: 1000 };
    const at = (atMs: number): ObjectObservation => objectWith(3, { applied: { seq: 3, digest: "d3", atMs } });
    const timeOf = (atMs: number): number | undefined => withBelievedAnnotations([target([at(atMs)])], known)[0]?.objects[0]?.applied?.atMs;
    expect([timeOf(999), timeOf(Date.UTC(9899, 0))]).toEqual([999, 1000]);
  });
});

describe("elsewhere", () => {
  test("an object under the target's own name is the target's, as after it was given a targetName", () => {
    expect(seen(objectWith(3), records, { objectName: "new" })).toBe(3);
  });

  test("a copy under any other name is left alone", () => {
    expect(seen(objectWith(3, { name: "live-backup" }), records)).toBe("left alone");
  });

  test("an object of the kind that the source was of belongs to the target", () => {
    expect(seen(objectWith(1, { resource: "configmaps" }), [record(1, "configmaps"), record(3)])).toBe(1);
  });

  test.each([
    ["a wrong digest", forged(3, { name: "x" })],
    ["a recorded digest and another content", objectWith(3, { name: "x", digest: "other" })],
    ["a kind that the version is not of", objectWith(3, { resource: "configmaps" })],
    ["a version beyond all records and a kind that nothing of the set is of", objectWith(1000, { resource: "configmaps" })],
    ["no version", unmarked({ name: "x" })],
  ])("an object with %s is left alone", (_, observed) => {
    expect(seen(observed, records)).toBe("left alone");
  });
});

test("somebody else's object is seen as it is", () => {
  expect(seen(objectWith(3, { ours: false, digest: "" }), records)).toBe(3);
});
