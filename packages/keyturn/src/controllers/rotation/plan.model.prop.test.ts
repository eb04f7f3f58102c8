// plan.ts against the naive simulator of the rules, over more than 100,000 random stories. A story that fails shrinks, and prints its timeline.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Script, scripts } from "../../../test/rotation-model/script.ts";
import { playScript } from "../../../test/rotation-model/trial.ts";
import { planRotation } from "./plan.ts";

/** `MODEL_RUNS=1000000` looks longer; `SEED=…` with what a failure prints plays it again. */
const factor = Number(process.env["MODEL_RUNS"] ?? 100_000) / 100_000;
const seed = process.env["SEED"] === undefined ? {} : { seed: Number(process.env["SEED"]) };

test.each([
  ["changes, flaps, deletions, outages and crashes", {}, 40_000],
  ["clocks that are wrong", { clocks: true }, 20_000],
  ["targets that are edited, added and removed", { edits: true }, 20_000],
  ["objects that are edited, deleted and taken", { drifts: true }, 10_000],
  ["all of it", { clocks: true, edits: true, drifts: true }, 10_000],
] as const)("the plan does what the rules say, with %s", { timeout: 600_000 }, (_which, troubles, runs) => {
  const numRuns = Math.round(runs * factor);
  let played = 0;
  fc.assert(
    fc.property(scripts(troubles), (script: Script) => {
      played += 1;
      playScript(script, planRotation);
    }),
    { numRuns, ...seed },
  );
  expect(played).toBe(numRuns);
});
