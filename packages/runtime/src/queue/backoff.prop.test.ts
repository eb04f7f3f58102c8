// Backoff over random failures and successes.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { seededRandom } from "../random.ts";
import { KeyBackoff } from "./backoff.ts";

test("delays double up to the longest, jittered downwards only, per key, and start again after a success", () => {
  const ends = fc.array(fc.record({ key: fc.constantFrom("a", "b"), ok: fc.boolean() }), { maxLength: 60 });
  fc.assert(
    fc.property(ends, fc.integer(), (runs, seed) => {
      const backoff = new KeyBackoff({ firstMs: 100, maxMs: 5_000 }, seededRandom(seed));
      const failures = { a: 0, b: 0 } as Record<string, number>;
      for (const { key, ok } of runs) {
        const wholeMs = Math.min(100 * 2 ** (failures[key] ?? 0), 5_000);
        if (ok) backoff.forget(key);
        const delayMs = ok ? wholeMs : backoff.fail(key);
        failures[key] = ok ? 0 : (failures[key] ?? 0) + 1;
        expect(delayMs).toBeGreaterThanOrEqual(wholeMs / 2);
        expect(delayMs).toBeLessThanOrEqual(wholeMs);
        expect(backoff.failures(key)).toBe(failures[key]);
      }
    }),
  );
});
