// Property test of the timer heap: it always gives the same timer first as a sorted list would.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { TimerHeap } from "./timer-heap.ts";
import type { HeapTimer } from "./timer-heap.ts";

const operation = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("add" as const), dueMs: fc.integer({ min: 0, max: 50 }) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("cancel" as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("take" as const) }) },
);

test("gives timers by due time, then in the order they were added, and none that was cancelled", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 400 }), (operations) => {
      const heap = new TimerHeap();
      let model: HeapTimer[] = [];
      const take = (): void => {
        const expected = model.toSorted((left, right) => left.dueMs - right.dueMs)[0];
        const first = heap.peek();
        expect(first).toBe(expected);
        first?.cancel();
        model = model.filter((timer) => timer !== first);
      };
      for (const step of operations) {
        if (step.type === "add") model.push(heap.add(step.dueMs, () => {}));
        else if (step.type === "take") take();
        else {
          const timer = model[step.which % Math.max(1, model.length)];
          timer?.cancel();
          timer?.cancel();
          model = model.filter((other) => other !== timer);
        }
        expect(heap.size).toBe(model.length);
      }
      while (model.length > 0) take();
      expect(heap.peek()).toBeUndefined();
    }),
  );
});
