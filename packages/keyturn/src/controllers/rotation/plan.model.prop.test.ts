// plan.ts against the naive simulator of the rules, over more than 100,000 random stories. A story that fails shrinks, and prints its timeline.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Action, type Script, scripts } from "../../../test/rotation-model/script.ts";
import { playScript } from "../../../test/rotation-model/trial.ts";
import { planRotation } from "./plan.ts";

/** The same stories everywhere; `SEED=42` plays others, `MODEL_RUNS=1000000` more of them. */
const factor = Number(process.env["MODEL_RUNS"] ?? 100_000) / 100_000;

test.each([
  ["changes, flaps, deletions, outages and crashes", {}, 40_000],
  ["clocks that are wrong", { clocks: true }, 20_000],
  ["objects that are edited and deleted", { drifts: true }, 20_000],
  ["all of it", { clocks: true, drifts: true }, 20_000],
] as const)("the plan does what the rules say, with %s", { timeout: 600_000 }, (_which, troubles, runs) => {
  const numRuns = Math.round(runs * factor);
  let played = 0;
  fc.assert(
    fc.property(scripts(troubles), (script: Script) => {
      played += 1;
      playScript(script, planRotation);
    }),
    { numRuns },
  );
  expect(played).toBe(numRuns);
});

test("a source that returns before the shortest delay is over causes no write to a target, however often it does", () => {
  const flap = fc.record({ value: fc.integer({ min: 1, max: 4 }), away: fc.double({ min: 0.001, max: 0.999, noNaN: true }), home: fc.nat(100) });
  const delays = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(delays, fc.array(flap, { minLength: 1, maxLength: 6 }), (given, flaps) => {
      const shortest = Math.min(...given);
      const set = (value: number): Action => ({ do: "set", value, unwatched: 0, seen: true });
      const script: Script = {
        targets: given.map((delay, index) => ({ order: index + 1, delay, deletionMode: "keep", whenUnfilled: "Backfill" })),
        changePolicy: "Settled",
        actions: [
          set(0),
          ...flaps.flatMap(({ value, away, home }): Action[] => [
            set(value),
            { do: "wait", seconds: shortest * away },
            set(0),
            { do: "wait", seconds: home },
          ]),
        ],
      };
      let writes = 0;
      playScript(script, (...seen) => {
        const plan = planRotation(...seen);
        writes += plan.writes.filter(({ verb }) => verb === "writeTarget").length;
        return plan;
      });
      // The first fill, and nothing after it.
      expect(writes).toBe(given.length);
    }),
    { numRuns: 300 },
  );
});
