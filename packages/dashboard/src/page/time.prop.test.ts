import * as fc from "fast-check";
import { expect, it } from "vitest";
import { clampSpan, fittingSpan, followingRange, moved, narrowestMs, shareAt, widestMs, zoomed, zoomSteps } from "./time.ts";

const now = 1_790_000_000_000;
const span = fc.double({ min: narrowestMs, max: widestMs, noNaN: true });
const range = span.map((spanMs) => followingRange(spanMs, now));

it("zooming keeps what is under the pointer where it is, and stays between minutes and years", () => {
  fc.assert(
    fc.property(range, fc.double({ min: 0.01, max: 100, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (before, factor, share) => {
      const anchor = before.fromMs + share * (before.toMs - before.fromMs);
      const after = zoomed(before, factor, anchor);
      expect(shareAt(after, anchor)).toBeCloseTo(share, 4);
      const width = after.toMs - after.fromMs;
      expect(width).toBeGreaterThanOrEqual(narrowestMs - 1);
      expect(width).toBeLessThanOrEqual(widestMs + 1);
    }),
  );
});

it("moving there and back ends where it began, and does not change the width", () => {
  fc.assert(
    fc.property(range, fc.double({ min: -5, max: 5, noNaN: true }), (before, share) => {
      const there = moved(before, share);
      expect(there.toMs - there.fromMs).toBeCloseTo(before.toMs - before.fromMs, -1);
      expect(moved(there, -share).fromMs).toBeCloseTo(before.fromMs, -1);
    }),
  );
});

it("now is always in view of a range that follows it, with room for what is planned", () => {
  fc.assert(
    fc.property(range, (following) => {
      expect(shareAt(following, now)).toBeGreaterThan(0.5);
      expect(shareAt(following, now)).toBeLessThan(0.8);
    }),
  );
});

it("the first look shows all times that any step can show", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -60 * 86_400_000, max: 30 * 86_400_000 })), (offsets) => {
      const shown = followingRange(
        fittingSpan(
          offsets.map((offset) => now + offset),
          now,
        ),
        now,
      );
      for (const offset of offsets) {
        expect(shareAt(shown, now + offset)).toBeGreaterThanOrEqual(-1e-9);
        expect(shareAt(shown, now + offset)).toBeLessThanOrEqual(1 + 1e-9);
      }
    }),
  );
});

it("steps grow", () => {
  const spans = zoomSteps.map(({ spanMs }) => spanMs);
  expect(spans.toSorted((left, right) => left - right)).toEqual(spans);
  expect(clampSpan(1)).toBe(narrowestMs);
});
