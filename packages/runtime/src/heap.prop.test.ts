// Property test of the heap: it always gives the same item first as a sorted list would.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type HeapItem, IndexedHeap } from "./collections.ts";

interface Item extends HeapItem {
  rank: number;
  readonly sequence: number;
}

const which = fc.nat();
const rank = fc.integer({ min: 0, max: 50 });
const operation = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("push" as const), rank }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("remove" as const), which }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("update" as const), which, rank }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("pop" as const) }) },
);

test("gives items by rank, then in the order they were added, wherever others were moved or taken out", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 400 }), (operations) => {
      const heap = new IndexedHeap<Item>((a, b) => (a.rank === b.rank ? a.sequence < b.sequence : a.rank < b.rank));
      let model: Item[] = [];
      const pop = (): void => {
        const expected = model.toSorted((left, right) => left.rank - right.rank || left.sequence - right.sequence)[0];
        expect(heap.peek()).toBe(expected);
        expect(heap.pop()).toBe(expected);
        model = model.filter((item) => item !== expected);
        if (expected) expect(heap.has(expected)).toBe(false);
      };
      for (const [sequence, step] of operations.entries()) {
        const item = "which" in step ? model[step.which % Math.max(1, model.length)] : undefined;
        if (step.type === "push") {
          const added = { rank: step.rank, sequence, position: -1 };
          heap.push(added);
          model.push(added);
        } else if (step.type === "pop") pop();
        else if (item && step.type === "update") {
          item.rank = step.rank;
          heap.update(item);
        } else if (item) {
          heap.remove(item);
          model = model.filter((other) => other !== item);
        }
        expect(heap.size).toBe(model.length);
        expect(model.every((each) => heap.has(each))).toBe(true);
      }
      while (model.length > 0) pop();
      expect(heap.peek()).toBeUndefined();
    }),
  );
});
