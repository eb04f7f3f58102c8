import * as fc from "fast-check";
import { expect, it } from "vitest";
import { virtualWindow } from "./virtual-table.tsx";

const visible = fc.record({
  count: fc.integer({ min: 0, max: 20_000 }),
  rowHeight: fc.integer({ min: 1, max: 200 }),
  viewTop: fc.integer({ min: -5_000, max: 1_000_000 }),
  viewHeight: fc.integer({ min: 0, max: 3_000 }),
  overscan: fc.integer({ min: 0, max: 20 }),
});

it("draws every row that is in view, only rows that exist, and not many more", () => {
  fc.assert(
    fc.property(visible, (given) => {
      const { first, end } = virtualWindow(given);
      expect(first).toBeGreaterThanOrEqual(0);
      expect(end).toBeLessThanOrEqual(given.count);
      expect(end).toBeGreaterThanOrEqual(first);
      expect(end - first).toBeLessThanOrEqual(Math.ceil(given.viewHeight / given.rowHeight) + 1 + 2 * given.overscan);
      for (const y of [given.viewTop, given.viewTop + given.viewHeight / 2, given.viewTop + given.viewHeight - 1]) {
        const row = Math.floor(y / given.rowHeight);
        if (given.viewHeight > 0 && row >= 0 && row < given.count) {
          expect(row).toBeGreaterThanOrEqual(first);
          expect(row).toBeLessThan(end);
        }
      }
    }),
  );
});
