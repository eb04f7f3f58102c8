// A set that people edit while the operator is away or has just been killed: what nobody can know stops the set, and what can be known is not lost.
import { expect, test } from "vitest";
import { RotationWorld } from "../../../test/rotation-model/rotation-world.ts";
import type { Applied } from "./observe.ts";
import { planRotation, type RotationPlan } from "./plan.ts";

const startMs = Date.UTC(2026, 0, 1);
const alike = { deletionMode: "keep", whenUnfilled: "Backfill" } as const;
const live = { ...alike, order: 1, delay: 60 };
const fallback = { ...alike, order: 2, delay: 10 };

function put(world: RotationWorld, content: string, afterS: number): void {
  world.putSource({ watched: content, content }, startMs + afterS * 1000);
}

/** Runs until nothing is to be done at a moment. */
function run(world: RotationWorld, afterS: number): RotationPlan {
  for (;;) {
    const plan = planRotation(world.observe(), startMs + afterS * 1000);
    if (plan.writes.length === 0) return plan;
    world.carryOut(plan);
  }
}

/** Two targets that hold the second version and the first. */
function rotated(): RotationWorld {
  const world = new RotationWorld();
  world.putTarget("live", live);
  world.putTarget("fallback", fallback);
  put(world, "v1", 0);
  run(world, 0);
  put(world, "v2", 100);
  for (const afterS of [100, 160]) run(world, afterS);
  return world;
}

function held(world: RotationWorld): readonly string[] {
  return ["live", "fallback"].map((name) => world.held(name));
}

/** Somebody changes what an object says it was written with, so that the proof does not hold any more. */
function forge(world: RotationWorld, name: string, { content, ...applied }: Partial<Applied> & { readonly content?: string }): void {
  const object = world.objects.get(name);
  if (!object?.applied) throw new Error(`${name} holds nothing`);
  const digest = content ?? object.digest;
  world.objects.set(name, { ...object, resourceVersion: world.nextId(), digest, applied: { ...object.applied, ...applied, isProven: false } });
}

test("a source that was another while nobody looked begins its delay anew", () => {
  const world = rotated();
  put(world, "v3", 200);
  run(world, 200);
  world.isFirstLook = true;
  put(world, "v4", 220);
  put(world, "v3", 255);
  run(world, 261);
  expect(held(world)).toEqual(["v2", "v1"]);
  world.isFirstLook = false;
  run(world, 314);
  expect(held(world)).toEqual(["v2", "v2"]);
  run(world, 315);
  expect(held(world)).toEqual(["v3", "v2"]);
});

test("who only annotates a source that is watched holds nothing up, and neither does one of which nothing is awaited", () => {
  const world = rotated();
  put(world, "v3", 200);
  run(world, 200);
  put(world, "v3", 250);
  run(world, 260);
  expect(held(world)).toEqual(["v3", "v2"]);
  world.isFirstLook = true;
  put(world, "v3", 300);
  expect(planRotation(world.observe(), startMs + 301_000).writes).toEqual([]);
});

test("two changes of the set within one moment are two", () => {
  const world = rotated();
  world.putTarget("fallback", { ...fallback, order: 1 });
  run(world, 200);
  world.putTarget("fallback", { ...fallback, order: 3 });
  world.putTarget("live", { ...live, order: 4 });
  run(world, 200);
  world.putTarget("live", live);
  world.putTarget("fallback", { ...fallback, order: 1 });
  expect(run(world, 250).settlesAtMs).toBe(startMs + 310_000);
});

test.each([
  ["lost its annotations", (world: RotationWorld) => world.spoil("live", "unlabelled")],
  ["claims a version that does not exist", (world: RotationWorld) => forge(world, "live", { seq: 7 })],
])("an object of a first fill that was cut, and that %s, stops the set", (_, spoil) => {
  const world = new RotationWorld();
  world.putTarget("live", live);
  put(world, "v1", 0);
  world.carryOut(planRotation(world.observe(), startMs), { stopAfter: 2 });
  spoil(world);
  put(world, "v2", 10);
  const plan = planRotation(world.observe(), startMs + 20_000);
  expect(plan).toMatchObject({ writes: [], setBlocker: { reason: "HistoryDamaged", message: expect.stringContaining("secrets/live") } });
  // As the message says.
  world.spoil("live", "deleted");
  run(world, 30);
  expect(world.held("live")).toBe("v2");
});

test("without any record, an object whose proof does not hold is not believed, and stops the set", () => {
  const world = rotated();
  world.records.clear();
  forge(world, "live", { content: "v9", digest: "v9" });
  forge(world, "fallback", {});
  expect(planRotation(world.observe(), startMs + 200_000)).toMatchObject({ writes: [], setBlocker: { reason: "HistoryDamaged" } });
});

test("the only record with another digest than its proof says stops a set of which an object is proven", () => {
  const world = rotated();
  world.records.delete(1);
  const [record] = world.records.values();
  if (record) world.records.set(record.seq, { ...record, digest: "forged", proof: "invalid" });
  expect(planRotation(world.observe(), startMs + 200_000)).toMatchObject({ writes: [], setBlocker: { reason: "HistoryDamaged" } });
});

test("a proven version without a record whose content was edited is lost, and that is said", () => {
  const world = rotated();
  world.records.clear();
  world.spoil("fallback", "edited");
  expect(planRotation(world.observe(), startMs + 200_000)).toMatchObject({ writes: [], setBlocker: { reason: "VersionLost" } });
});

test("with an older log, an object that does not say what it holds is not put back to what that log says", () => {
  const world = new RotationWorld();
  for (const name of ["live", "twin"]) world.putTarget(name, live);
  world.putTarget("fallback", fallback);
  put(world, "v1", 0);
  run(world, 0);
  put(world, "v2", 100);
  for (const afterS of [100, 160]) run(world, afterS);
  expect([...held(world), world.held("twin")]).toEqual(["v2", "v1", "v2"]);
  world.records.delete(2);
  forge(world, "twin", { seq: 7 });
  const plan = planRotation(world.observe(), startMs + 200_000);
  expect(plan).toMatchObject({ writes: [], setBlocker: { reason: "HistoryDamaged", message: expect.stringContaining("secrets/twin") } });
});

test("after a crash that kept a move out of the log, an object that lost its annotations is not put back", () => {
  const world = rotated();
  put(world, "v3", 200);
  for (const afterS of [200, 210]) run(world, afterS);
  world.carryOut(planRotation(world.observe(), startMs + 260_000), { stopAfter: 1 });
  expect(held(world)).toEqual(["v3", "v2"]);
  world.spoil("live", "unlabelled");
  expect(planRotation(world.observe(), startMs + 261_000)).toMatchObject({ writes: [], setBlocker: { reason: "HistoryDamaged" } });
});

test("a target that left while the shape was not known yet is remembered for as long as others are", () => {
  const world = rotated();
  world.records.clear();
  run(world, 200);
  world.removeTarget("live");
  put(world, "v3", 201);
  run(world, 201);
  expect(world.held("fallback")).toBe("v1");
  world.putTarget("live", live);
  run(world, 202);
  expect(held(world)).toEqual(["v2", "v1"]);
});

test("an object that is there is not taken for gone with its source", () => {
  const world = new RotationWorld();
  world.putTarget("live", { ...live, deletionMode: "cascade" });
  world.putTarget("fallback", fallback);
  put(world, "v1", 0);
  run(world, 0);
  world.sources.clear();
  run(world, 10);
  put(world, "v2", 20);
  for (const afterS of [20, 30, 80]) run(world, afterS);
  expect(held(world)).toEqual(["v2", "v1"]);
  world.records.delete(2);
  world.spoil("live", "edited");
  put(world, "v3", 100);
  expect(planRotation(world.observe(), startMs + 101_000)).toMatchObject({ writes: [], setBlocker: { reason: "VersionLost" } });
});

test("a content that was live again stays until the further delays after its last time are over", () => {
  const world = rotated();
  world.putTarget("oldest", { ...alike, order: 3, delay: 10 });
  for (const afterS of [200, 260]) run(world, afterS);
  for (const [content, afterS] of [
    ["v1", 300],
    ["v2", 400],
  ] as const) {
    put(world, content, afterS);
    for (const laterS of [0, 10, 20, 60, 70, 80]) run(world, afterS + laterS);
  }
  expect([...held(world), world.held("oldest")]).toEqual(["v2", "v1", "v2"]);
  world.removeTarget("live");
  world.objects.delete("live");
  put(world, "v3", 500);
  for (const afterS of [500, 510, 560, 569]) run(world, afterS);
  expect([world.held("fallback"), world.held("oldest")]).toContain("v2");
});
