// The earliest due time, against looking at all of them.
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { DueTimes } from "./due-times.ts";

it("is always the smallest of the times that are set", () => {
  const change = fc.tuple(fc.constantFrom("a", "b", "c", "d"), fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined }));
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const dueTimes = new DueTimes();
      const times = new Map<string, number>();
      for (const [key, dueMs] of changes) {
        dueTimes.set(key, dueMs);
        if (dueMs === undefined) times.delete(key);
        else times.set(key, dueMs);
        expect(dueTimes.earliestMs).toBe(times.size === 0 ? undefined : Math.min(...times.values()));
      }
    }),
  );
});
