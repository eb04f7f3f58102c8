// What is kept of checksum objects, and which of them counts.
import { expect, test } from "vitest";
import { compareStamps, isOfState, newerStamp, newestFirst, observedChecksum } from "./observed-checksum.ts";

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
