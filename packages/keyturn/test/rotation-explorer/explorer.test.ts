// Every promise holds in every small world, whatever is done to it: E1 to E5, at every write. `EXPLORE_DEPTH=1` adds an action to each world, and takes long.
import { expect, test } from "vitest";
import * as decisions from "./decisions.ts";
import { explore } from "./explorer.ts";
import { worlds } from "./worlds.ts";

/** Only a hang takes longer. */
const timeout = 1_800_000;
const more = Number(process.env["EXPLORE_DEPTH"] ?? 0);

test.each(Object.entries(worlds))("%s", { timeout }, (name, world) => {
  const { states, runs, wrong } = explore({ ...world, decisions, depth: world.depth + more });
  expect(wrong?.join("\n")).toBeUndefined();
  expect(states).toBeGreaterThan(100);
  process.stdout.write(`${name}: ${states} states, ${runs} runs\n`);
});
