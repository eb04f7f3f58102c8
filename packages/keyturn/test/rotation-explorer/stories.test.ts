// Random long stories of a set that people edit, with everything that the explorer has, all at once: what takes more steps than can be explored is found here.
import { expect, test } from "vitest";
import * as decisions from "./decisions.ts";
import { tellStory } from "./stories.ts";

/** The same stories everywhere; `SEED=42` tells others, `STORIES=100000` more of them. */
const firstSeed = Number(process.env["SEED"] ?? 1);
const stories = Number(process.env["STORIES"] ?? 2000);
const steps = 40;

/** Only a hang takes longer. */
const timeout = 1_200_000;

test.each([
  ["targets that are always filled", {}],
  ["targets that may be absent", { mayBeAbsent: true }],
  ["two leaders", { leaders: 2 }],
] as const)("%s: every promise holds at every write", { timeout }, (_, kind) => {
  let writes = 0;
  for (let seed = firstSeed; seed < firstSeed + stories; seed++) {
    const told = tellStory(decisions, { seed, steps, ...kind });
    writes += told.writes;
    expect(told.wrong?.join("\n")).toBeUndefined();
  }
  expect(writes).toBeGreaterThan(stories);
});
