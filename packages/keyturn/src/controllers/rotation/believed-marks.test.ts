// Marks that anybody could have written, and what makes them believable.
import { describe, expect, test } from "vitest";
import { withBelievedMarks } from "./believed-marks.ts";
import type { ObjectObservation, RecordObservation, TargetObservation } from "./observation.ts";

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

const object = (seq: number, change: Partial<ObjectObservation> = {}): ObjectObservation => ({
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
  object(seq, { applied: { seq, digest: "00", atMs: 0 }, ...change });

function unmarked(change: Partial<ObjectObservation>): ObjectObservation {
  const { applied: _, ...bare } = object(3, change);
  return bare;
}

/** What is left of an object: the version that is believed, `bare` if none is, `left alone` if it is not the target's at all. */
function seen(observed: ObjectObservation, records: readonly RecordObservation[]): number | "bare" | "left alone" {
  const target: TargetObservation = {
    name: "live",
    uid: "t",
    generation: 1,
    order: 1,
    delayMs: 0,
    deletionMode: "keep",
    whenUnfilled: "Backfill",
    changePolicy: "Settled",
    objectName: "live",
    statusMark: undefined,
    objects: [observed],
  };
  const [kept] = withBelievedMarks([target], { sources: [], records })[0]?.objects ?? [];
  return kept ? (kept.applied?.seq ?? "bare") : "left alone";
}

const records = [record(1), record(3)];

describe("in the target's own place", () => {
  test("a version that is recorded is believed by its record, also where the content was edited", () => {
    expect(seen(object(3), records)).toBe(3);
    expect(seen(object(3, { digest: "edited" }), records)).toBe(3);
  });

  test("a mark that contradicts the record or the log is no mark, and the object is still the target's to repair", () => {
    expect(seen(forged(3), records)).toBe("bare");
    expect(seen(forged(3, { digest: "00" }), records)).toBe("bare");
    const log = { source: { state: "gone", sinceMs: 0 }, commits: [{ seq: 2, digest: "d2", at: {} }], frozen: [], backfilled: [] } as const;
    expect(seen(forged(2, { digest: "00" }), [record(1), { ...record(3), log }])).toBe("bare");
    expect(seen(object(2), [record(1), { ...record(3), log }])).toBe(2);
  });

  test("a version whose record is lost is believed by the content", () => {
    for (const seq of [2, 1000]) {
      expect(seen(object(seq), records)).toBe(seq);
      expect(seen(object(seq, { digest: "edited" }), records)).toBe("bare");
    }
    expect(seen(object(5), [])).toBe(5);
  });
});

describe("elsewhere", () => {
  test("an object that is what it says belongs to the target, as after a change of targetName", () => {
    expect(seen(object(3, { name: "old" }), records)).toBe(3);
    expect(seen(object(1, { resource: "configmaps" }), [record(1, "configmaps"), record(3)])).toBe(1);
  });

  test.each([
    ["a wrong digest", forged(3, { name: "x" })],
    ["a recorded digest and another content", object(3, { name: "x", digest: "other" })],
    ["a kind that the version is not of", object(3, { resource: "configmaps" })],
    ["a version beyond all records and a kind that nothing of the set is of", object(1000, { resource: "configmaps" })],
    ["no version", unmarked({ name: "x" })],
  ])("an object with %s is left alone", (_, observed) => {
    expect(seen(observed, records)).toBe("left alone");
  });
});

test("somebody else's object is seen as it is", () => {
  expect(seen(object(3, { ours: false, digest: "" }), records)).toBe(3);
});
