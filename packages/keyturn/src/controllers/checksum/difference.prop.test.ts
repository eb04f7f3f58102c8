// The difference of two lists, against counting.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { differenceOf } from "./ids.ts";

const ids = fc.array(fc.integer({ min: 0, max: 20 }).map(String), { maxLength: 40 });
const countOf = (id: string, list: readonly string[]): number => list.filter((each) => each === id).length;

test("names each id as often as one list has it more than the other, in order", () => {
  fc.assert(
    fc.property(ids, ids, (live, published) => {
      const { notPublished, notLive } = differenceOf(live, published);
      for (const id of new Set([...live, ...published])) {
        const surplus = countOf(id, live) - countOf(id, published);
        expect(countOf(id, notPublished)).toBe(Math.max(0, surplus));
        expect(countOf(id, notLive)).toBe(Math.max(0, -surplus));
      }
      expect(notPublished).toEqual(notPublished.toSorted());
    }),
  );
});
