// A history that cannot be gone on with stops the set, and targets keep what they hold.
import { expect, test } from "vitest";
import { RotationWorld } from "../../../test/rotation-model/rotation-world.ts";
import { highestVersion } from "./api.ts";
import { parseLog } from "./history.ts";
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
  expect(setBlocker).toMatchObject({
    reason: "HistoryDamaged",
    message: "versions are counted up to 999999999, and secrets/keys-999999999 claims the last of them: delete that record or object",
  });
  expect(targets.get("live")?.held).toMatchObject({ seq: 1 });
});

test("with a damaged history nothing moves, and what is held is reported as it is", () => {
  const world = filled();
  world.putSource({ watched: "v2", content: "v2" }, startMs + 1000);
  const { writes, setBlocker, targets } = planRotation({ ...world.observe(), damage: "record 1 cannot be read" }, startMs + 2000);
  expect(writes).toEqual([]);
  expect(setBlocker).toEqual({ reason: "HistoryDamaged", message: "record 1 cannot be read" });
  expect(targets.get("live")?.held).toMatchObject({ seq: 1 });
});

const putBack =
  "put its annotation rotator.k8s.telekom.com/log back, or delete the record, and it is made again from an object that has its content, if there is one";

test.each<readonly [string, readonly number[], string]>([
  ["all", [1, 2], "shop/keys-1, shop/keys-2"],
  ["the newest", [2], "shop/keys-2"],
])("an unreadable log of %s of the records stops the set, and no record and no object goes", (_, seqs, named) => {
  const world = filled();
  world.putTarget("previous", { order: 2, delay: 0, deletionMode: "keep", whenUnfilled: "Backfill" });
  world.putSource({ watched: "v2", content: "v2" }, startMs + 1000);
  for (const afterMs of [2000, 3000, 4000]) world.carryOut(planRotation(world.observe(), startMs + afterMs));
  expect(world.picture()).toMatch(/history 1 2$/);
  for (const seq of seqs) {
    const record = world.records.get(seq);
    if (record) world.records.set(seq, { ...record, log: undefined });
  }
  const { writes, setBlocker } = planRotation(world.observe(), startMs + 5000);
  expect(writes).toEqual([]);
  expect(setBlocker).toEqual({
    reason: "HistoryDamaged",
    message: `the log of version record ${named} cannot be read or is of a time to come: ${putBack}`,
  });
});

test("a record with a log of the year 9899, or beyond the newest and with none, stops the set", () => {
  const world = filled();
  const [record] = world.records.values();
  if (!record?.log) throw new Error("there is no record");
  world.records.set(9, { ...record, seq: 9, log: undefined });
  expect(planRotation(world.observe(), startMs + 1000)).toMatchObject({ writes: [], setBlocker: { reason: "HistoryDamaged" } });
  world.records.delete(9);
  const frozen = [{ fromMs: 0, toMs: Date.UTC(9899, 0) }];
  world.records.set(record.seq, { ...record, log: { ...record.log, frozen } });
  expect(planRotation(world.observe(), startMs + 1000)).toMatchObject({ writes: [], setBlocker: { reason: "HistoryDamaged" } });
});

test("a target may have any name, such as constructor", () => {
  const world = new RotationWorld();
  world.putTarget("constructor", { order: 1, delay: 10, deletionMode: "keep", whenUnfilled: "Backfill" });
  world.putTarget("previous", { order: 2, delay: 0, deletionMode: "keep", whenUnfilled: "Absent" });
  world.putSource({ watched: "v1", content: "v1" }, startMs);
  for (const [value, afterMs] of [
    ["v1", 0],
    ["v2", 20_000],
    ["v2", 40_000],
  ] as const) {
    if (world.sources.get("source")?.content !== value) world.putSource({ watched: value, content: value }, startMs + afterMs);
    for (let run = 0; run < 3; run++) {
      world.carryOut(planRotation(world.observe(), startMs + afterMs));
      for (const [seq, record] of world.records) world.records.set(seq, { ...record, log: parseLog(JSON.stringify(record.log)) });
    }
  }
  expect([world.held("constructor"), world.held("previous")]).toEqual(["v2", "v1"]);
});

test.each(["Settled", "Queue"] as const)("with %s, a change at watch-path that leaves the rotated content as it is moves nothing", (changePolicy) => {
  const world = filled();
  world.changePolicy = changePolicy;
  world.putTarget("fallback", { order: 2, delay: 0, deletionMode: "keep", whenUnfilled: "Backfill" });
  const writesAt = (afterS: number): readonly string[] => {
    const verbs: string[] = [];
    for (
      let plan = planRotation(world.observe(), startMs + afterS * 1000);
      plan.writes.length > 0;
      plan = planRotation(world.observe(), startMs + afterS * 1000)
    ) {
      verbs.push(...plan.writes.map(({ verb }) => verb));
      world.carryOut(plan);
    }
    return verbs;
  };
  writesAt(1);
  world.putSource({ watched: "another", content: "v1" }, startMs + 2000);
  // It is noted, as a version of its own.
  expect(writesAt(2)).toContain("createRecord");
  expect(writesAt(100)).toEqual([]);
  expect([world.objects.get("live")?.applied?.seq, world.objects.get("fallback")?.applied?.seq]).toEqual([1, 1]);
});
