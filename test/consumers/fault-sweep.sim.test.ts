// Something goes wrong at each write that there is, with a standby and with two leaders at once: each change is rolled out exactly once.
import { expect, test } from "vitest";
import { auto, ConsumersWorld, type Fault, password } from "./consumers-world.ts";

const names = ["a", "b", "c"];
const everyone = (count: number) => Object.fromEntries(names.map((name) => [name, count]));

/** Two changes, each as soon as the one before has come through, and a while in which nothing may follow. */
async function rolledOut(fault: Fault, elects: boolean): Promise<ConsumersWorld> {
  const world = new ConsumersWorld({ fault, elects });
  world.secret("db", { password: "one" });
  for (const name of names) world.deployment(name, { annotations: auto, container: password });
  world.start().start();
  await world.passUntil(() => names.every((name) => world.startedWith(name) !== undefined));
  for (const [index, value] of ["two", "three"].entries()) {
    world.secret("db", { password: value });
    await world.passUntil(() => names.every((name) => (world.restartCounts[name] ?? 0) > index) && world.labelled.length === 0);
  }
  await world.pass(60);
  return world;
}

/** As many writes as a run without a fault has. A fault makes for further ones, at which nothing goes wrong. */
const pointsOf = { "a standby": 26, "two leaders": 34 };

test.each([
  ["killed before", "a standby"],
  ["killed after", "a standby"],
  ["unanswered", "a standby"],
  ["conflict", "a standby"],
  ["stale", "a standby"],
  ["killed before", "two leaders"],
  ["killed after", "two leaders"],
  ["unanswered", "two leaders"],
  ["conflict", "two leaders"],
  ["stale", "two leaders"],
] as const)("%s at any write, with %s", async (what, others) => {
  const elects = others === "a standby";
  const undisturbed = await rolledOut({ at: 0, what }, elects);
  expect([undisturbed.restartCounts, undisturbed.labelled]).toEqual([everyone(2), []]);
  // Nobody has taken points away unnoticed.
  expect(undisturbed.writes).toBeGreaterThanOrEqual(pointsOf[others]);
  for (let at = 1; at <= undisturbed.writes; at++) {
    const world = await rolledOut({ at, what }, elects);
    expect([at, world.restartCounts, world.labelled]).toEqual([at, everyone(2), []]);
  }
});
