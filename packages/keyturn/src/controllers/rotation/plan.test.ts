// A history that cannot be gone on with stops the set, and targets keep what they hold.
import { expect, test } from "vitest";
import { RotationWorld } from "../../../test/rotation-model/rotation-world.ts";
import { highestVersion } from "./api.ts";
import { planRotation } from "./plan.ts";

const startMs = Date.UTC(2026, 0, 1);

function filled(): RotationWorld {
  const world = new RotationWorld();
  world.putTarget("live", { order: 1, delay: 0, deletionMode: "keep", whenUnfilled: "Backfill" });
  world.putSource({ watched: "v1", content: "v1" }, startMs);
  world.carryOut(planRotation(world.observe(), startMs));
  return world;
}

test("the number after the last is not given out: nothing is written, and the message says what to do", () => {
  const world = filled();
  const [record] = world.records.values();
  if (!record) throw new Error("there is no record");
  world.records.set(highestVersion, { ...record, seq: highestVersion });
  world.putSource({ watched: "v2", content: "v2" }, startMs + 1000);
  const { writes, setBlocker, targets } = planRotation(world.observe(), startMs + 2000);
  expect(writes).toEqual([]);
  expect(setBlocker).toMatchObject({ reason: "HistoryDamaged", message: expect.stringContaining("999999999") });
  expect(targets.get("live")?.held).toMatchObject({ seq: 1 });
});

test("with a damaged history nothing moves, and what is held is told as it is", () => {
  const world = filled();
  world.putSource({ watched: "v2", content: "v2" }, startMs + 1000);
  const { writes, setBlocker, targets } = planRotation({ ...world.observe(), damage: "record 1 cannot be read" }, startMs + 2000);
  expect(writes).toEqual([]);
  expect(setBlocker).toEqual({ reason: "HistoryDamaged", message: "record 1 cannot be read" });
  expect(targets.get("live")?.held).toMatchObject({ seq: 1 });
});
