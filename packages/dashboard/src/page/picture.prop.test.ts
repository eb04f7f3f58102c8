import * as fc from "fast-check";
import { expect, it } from "vitest";
import { applyToTable, findRecord, inOrder } from "./picture.ts";

const id = fc.stringMatching(/^[a-c/-]{1,3}$/);
const record = fc.record({ id, value: fc.integer() });
const change = fc.record({ upserts: fc.array(record), removals: fc.array(id) }).map(({ upserts, removals }) => ({
  upserts,
  removals: new Set(removals.filter((removed) => !upserts.some((upsert) => upsert.id === removed))),
}));

it("is what a map would hold after the same changes, in the order of ids", () => {
  fc.assert(
    fc.property(fc.array(record), fc.array(change), (first, changes) => {
      let table = inOrder(first);
      const map = new Map(first.map((entry) => [entry.id, entry]));
      for (const { upserts, removals } of changes) {
        table = applyToTable(table, upserts, removals);
        for (const removed of removals) map.delete(removed);
        for (const upsert of upserts) map.set(upsert.id, upsert);
      }
      expect(table).toEqual([...map.values()].toSorted((left, right) => (left.id < right.id ? -1 : 1)));
      for (const entry of map.values()) expect(findRecord(table, entry.id)).toBe(entry);
      expect(findRecord(table, "zzz")).toBeUndefined();
    }),
  );
});

it("is the same array as before if nothing changed", () => {
  const table = inOrder([{ id: "b" }, { id: "a" }]);
  expect(applyToTable(table, [], new Set(["c"]))).toBe(table);
});
