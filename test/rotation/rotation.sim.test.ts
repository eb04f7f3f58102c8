// The rotation controller in a seeded simulation: crashes between any two writes, lost answers, stale caches, two replicas. Nothing is early, lost or out of order.
import { expect, test } from "vitest";
import { forEachSeed, modelOperator, oneWriter, simulate } from "@keyturn/runtime/testing";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { RotatedRight, rotationActions, rotationSetup, rotationUnsettled } from "./simulated-rotation.ts";

/** What two that see something else, because a watch is silent or clocks differ, write at most: they do not replace each other's statuses without a pause. */
const maxWrites = 400;
/** Renewing a Lease every 2 s makes 30 requests a minute, standing by for it up to 83. */
const maxWhenSettled = 130;

function rotating(seed: number, elects: boolean): Parameters<typeof simulate>[0] {
  const controllers = (): ReturnType<typeof rotationFeature.controllers> => rotationFeature.controllers((flag) => flag.parse(undefined));
  const right = new RotatedRight();
  return {
    seed,
    processes: ["one", "two"].map((name) => modelOperator(name, { controllers: controllers(), operator: keyturn, elects })),
    setup: rotationSetup,
    actions: rotationActions(),
    unsettled: rotationUnsettled(right),
    maxRequestsPerMinute: maxWhenSettled,
    // Steps of the clock are the property tests' business: here every date is checked. A restored store has forgotten what was written.
    worldFaults: { clockJump: 0, restore: 0 },
    invariants: { ...(elects && { "one writer": oneWriter("kube-system/rotation", ["secrets"]) }), "rotated right": right.check },
  };
}

test.each([
  ["a leader and a standby", true],
  ["two leaders at once", false],
])("%s: every target is right at every moment, and the last content is live", async (_which, elects) => {
  await forEachSeed(30, async (seed) => {
    const report = await simulate(rotating(seed, elects));
    expect(report.writes).toBeGreaterThan(0);
    if (!elects) expect(report.writes).toBeLessThan(maxWrites);
  });
});

test("two leaders of which one has not heard of a target made again do not replace each other's notes without a pause", async () => {
  // Found by trying 250: the watch of RotationTargets is silent while one is replaced.
  const report = await simulate(rotating(226, false));
  expect(report.writes).toBeLessThan(maxWrites);
});
