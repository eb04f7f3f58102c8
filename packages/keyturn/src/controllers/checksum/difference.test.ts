// The difference of long lists.
import { expect, test } from "vitest";
import { compareStamps, differenceInWords, isOfState, newerStamp, newestFirst, observedChecksum, setDifference } from "./difference.ts";
import { differenceOf } from "./ids.ts";

test("among 200,000 ids the ones that differ are found without comparing each with each", () => {
  const ids = Array.from({ length: 200_000 }, (_, index) => `${index}-1`);
  const published = ids.map((id) => (id === "77777-1" ? "77777-2" : id));
  expect(differenceOf([...ids, "new-1"], published.toReversed())).toEqual({ notPublished: ["77777-1", "new-1"], notLive: ["77777-2"] });
});

// Which Secrets differ from a checksum, with their names.

const nobody = new Map<string, string>();

test("both directions, and what has changed, in the order of numbers", () => {
  const live = new Map([
    ["web-10", "10-1-aa"],
    ["web-9", "9-2-bb"],
    ["web-1", "1-1-cc"],
  ]);
  const differences = setDifference({
    live,
    leftOut: nobody,
    published: ["1-1-cc", "9-1-bb", "11-1-dd"],
    knownNames: new Map([["11-1-dd", "web-11"]]),
  });
  expect(differences.map(differenceInWords)).toEqual([
    "web-9 is 9-2-bb and should be 9-1-bb",
    "web-10 (10-1-aa) is not in the checksum",
    "web-11 (11-1-dd) is missing",
  ]);
});

test("a Secret that is there and does not count is named with the reason", () => {
  const differences = setDifference({ live: nobody, leftOut: new Map([["web-007", "KeyMismatch"]]), published: ["7-1-aa"], knownNames: nobody });
  expect(differences.map(differenceInWords)).toEqual(["web-007 (7-1-aa) is there and does not count: KeyMismatch"]);
});

test("Secrets with the same id are each named once", () => {
  const live = new Map([
    ["a-7", "7-1-aa"],
    ["b-07", "7-1-aa"],
  ]);
  const names = setDifference({ live, leftOut: nobody, published: [], knownNames: nobody }).map(({ secret }) => secret);
  expect(new Set(names)).toEqual(new Set(["a-7", "b-07"]));
});

test("a negative version does not confuse anybody", () => {
  const differences = setDifference({ live: new Map([["a-7", "7--1-aa"]]), leftOut: nobody, published: ["7-2-aa"], knownNames: nobody });
  expect(differences).toEqual([{ direction: "changed", secret: "a-7", live: "7--1-aa", published: "7-2-aa" }]);
});

// What is kept of checksum objects, and which of them counts.

const metadata = { namespace: "shop", name: "secret-1", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:05Z" };
const createdMs = Date.UTC(2026, 0, 1, 0, 0, 5);

test("the timestamp counts, and the creation for one that has none that can be read", () => {
  const timestampMs = Date.UTC(2026, 0, 1);
  expect(observedChecksum({ metadata, spec: { timestamp: "2026-01-01T00:00:00Z", checksum: "x" } }).stamp).toEqual({ timestampMs, createdMs });
  expect(observedChecksum({ metadata, spec: { timestamp: "yesterday" } })).toMatchObject({
    checksum: "",
    stamp: { timestampMs: createdMs, createdMs },
  });
});

test("a timestamp that is far ahead of the creation does not count", () => {
  const spec = { timestamp: "2026-01-02T00:00:00Z", checksum: "x" };
  expect(observedChecksum({ metadata, spec }).stamp).toEqual({ timestampMs: createdMs, createdMs });
});

test("no announcement is awaited for longer than a day, whatever it says of itself", () => {
  const announced = (expires: string) => observedChecksum({ metadata, spec: { timestamp: "2026-01-01T00:00:00Z", announcement: { expires } } });
  const hourMs = 3_600_000;
  expect(announced(new Date(createdMs + hourMs).toISOString()).announcedUntilMs).toBe(createdMs + hourMs);
  expect(announced("9999-01-01T00:00:00Z").announcedUntilMs).toBe(createdMs + 24 * hourMs);
});

test("of two of one second the one that was created later is the newer", () => {
  const [early, late] = [5, 6].map((created) => ({ timestampMs: 1, createdMs: created }));
  if (!early || !late) throw new Error("there are two");
  expect(compareStamps(early, late)).toBeLessThan(0);
  expect(newerStamp(early, late)).toBe(late);
  expect(newerStamp(undefined, early)).toBe(early);
  const objects = [early, late].map((stamp, index) => ({ name: `sum-${index}`, checksum: "", stamp }));
  expect(newestFirst(objects).map(({ name }) => name)).toEqual(["sum-1", "sum-0"]);
});

test("an object without contents is of every state with its ids; one with contents only of those", () => {
  const state = { ids: [], checksum: "x", sha256: "here" };
  const stamp = { timestampMs: 1, createdMs: 1 };
  expect(isOfState({ name: "a", checksum: "x", stamp }, state)).toBe(true);
  expect(isOfState({ name: "a", checksum: "x", stamp, sha256: "here" }, state)).toBe(true);
  expect(isOfState({ name: "a", checksum: "x", stamp, sha256: "there" }, state)).toBe(false);
  expect(isOfState({ name: "a", checksum: "", stamp }, state)).toBe(false);
});
