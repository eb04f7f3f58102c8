// What promoting a version does to a set, before anybody is asked.
import { expect, test } from "vitest";
import { RotationWorld } from "../../../test/rotation-model/rotation-world.ts";
import { planRotation } from "./plan.ts";
import { describePromotion, promotionOf } from "./promote.ts";

const startMs = Date.UTC(2026, 0, 1);
const minuteMs = 60_000;

/** Everything is as planned. */
function settle(world: RotationWorld, nowMs: number): void {
  for (;;) {
    const plan = planRotation(world.observe(), nowMs);
    if (plan.writes.length === 0) return;
    world.carryOut(plan);
  }
}

/** live with an hour's delay and fallback with five minutes hold v1; the source has just become v2. */
function changedSet(): RotationWorld {
  const world = new RotationWorld();
  world.putTarget("live", { order: 1, delay: 3600, deletionMode: "keep", whenUnfilled: "Backfill" });
  world.putTarget("fallback", { order: 2, delay: 300, deletionMode: "keep", whenUnfilled: "Backfill" });
  world.putSource({ watched: "v1", content: "v1" }, startMs);
  settle(world, startMs);
  world.putSource({ watched: "v2", content: "v2" }, startMs + minuteMs);
  settle(world, startMs + minuteMs);
  return world;
}

test("is told with when the version is live, and when it would be without it", () => {
  expect(describePromotion(promotionOf(changedSet().observe(), startMs + 11 * minuteMs))).toBe(
    "Version 2 of set keys does not wait for the rest of its delay:\n  rotationtarget/live gets version 2 at once, instead of in 50m\nThe targets after it follow by their own delays.",
  );
});

test("is of the next version that the operator has seen, and of none if there is none", () => {
  const world = changedSet();
  settle(world, startMs + 61 * minuteMs);
  expect(() => promotionOf(world.observe(), startMs + 62 * minuteMs)).toThrow(/there is no version to promote in set .*until the source changes/);
  world.putSource({ watched: "v3", content: "v3" }, startMs + 63 * minuteMs);
  expect(() => promotionOf(world.observe(), startMs + 63 * minuteMs)).toThrow(/has not seen version 3/);
});
