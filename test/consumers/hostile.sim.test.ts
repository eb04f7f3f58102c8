// What hostile, careless and odd use does to restarts.
import { Deployment } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { startedWithAnnotation } from "../../packages/keyturn/src/controllers/consumers/annotations.ts";
import { all, auto, password, started } from "./consumers-world.ts";

const user = { env: [{ name: "USER", valueFrom: { secretKeyRef: { name: "db", key: "user" } } }] };

describe("one bad Secret", () => {
  test("takes down one workload, and the next good one brings it back", async () => {
    const world = await started({ a: { annotations: auto, container: password }, b: { annotations: auto, container: password } });
    world.secret("db", { password: "bad" });
    await world.pass(300);
    expect(world.restarts).toEqual(["a"]);
    world.secret("db", { password: "good" });
    await world.pass(900);
    expect([world.restartCounts, world.labelled]).toEqual([{ a: 2, b: 1 }, []]);
  });
  test("once its rollout is late, too", async () => {
    const world = await started({ a: { annotations: auto, container: password }, b: { annotations: auto, container: password } });
    world.secret("db", { password: "bad" });
    await world.pass(900);
    world.secret("db", { password: "good" });
    await world.pass(900);
    expect([world.restartCounts, world.labelled]).toEqual([{ a: 2, b: 1 }, []]);
  });
  test("taken back to what it was: those that kept it are left alone", async () => {
    const world = await started({ a: { annotations: auto, container: password }, b: { annotations: auto, container: password } });
    world.secret("db", { password: "bad" });
    await world.pass(900);
    world.secret("db", { password: "one" });
    await world.pass(900);
    expect([world.restartCounts, world.labelled]).toEqual([{ a: 2, b: 0 }, []]);
  });
  test("a workload without pods shows nothing", async () => {
    const using = { annotations: auto, container: password };
    const world = await started({ a: { ...using, replicas: 0 }, b: using, c: using, d: using });
    world.secret("db", { password: "bad" });
    await world.pass(900);
    expect(world.restartCounts).toMatchObject({ b: 1, c: 0, d: 0 });
  });
  test("whichever of its keys they use", async () => {
    const world = await started({
      a: { annotations: auto, container: password },
      b: { annotations: auto, container: user },
      c: { annotations: auto, container: all },
    });
    world.secret("db", { password: "bad", user: "bad" });
    await world.pass(900);
    expect(world.restarts).toEqual(["a"]);
  });
  test("one that is looked at for the first time shows nothing", async () => {
    const using = { annotations: auto, container: password };
    const world = await started({ a: using, b: using, c: using, z: { container: password } });
    world.secret("db", { password: "bad" });
    await world.pass(60);
    world.deployment("z", using);
    await world.pass(900);
    expect(world.restartCounts).toEqual({ a: 1, b: 0, c: 0, z: 0 });
  });
});

test.each([
  [1, 0],
  [12, 4],
  [90, 4],
])("back and forth twice, each time after %i s: %i restarts", async (seconds, restarts) => {
  const world = await started({ a: { annotations: auto, container: password } });
  for (let round = 0; round < 2; round++) {
    world.secret("db", { password: "two" });
    await world.clock.advance(seconds * 1000);
    world.secret("db", { password: "one" });
    await world.pass(120);
  }
  expect([world.restarts.length, world.labelled]).toEqual([restarts, []]);
});

describe("deleted and made again", () => {
  test("with what was written down on the one before: as at first sight", async () => {
    const world = await started({ a: { annotations: auto, container: password } });
    const text = world.startedWith("a") ?? "";
    world.remove(Deployment, "a");
    world.secret("db", { password: "two" });
    await world.pass(60);
    world.deployment("a", { annotations: { ...auto, [startedWithAnnotation]: text }, container: password });
    await world.pass(60);
    expect(world.restarts).toEqual([]);
  });
  test("written down with an installation key that was lost since: as at first sight", async () => {
    const world = await started({ a: { annotations: auto, container: password } });
    world.kill();
    world.key = new Uint8Array(32).fill(9);
    world.start();
    await world.pass(60);
    expect(world.restarts).toEqual([]);
    world.secret("db", { password: "two" });
    await world.pass(60);
    expect(world.restarts).toEqual(["a"]);
  });
});

test("names that nothing can have are not carried on", async () => {
  const long = "x".repeat(60_000);
  const mine = { "keyturn.io/restart-on-change": `secret/${long}`, [startedWithAnnotation]: `secret/${long}=00` };
  const world = await started({ a: { annotations: auto, container: password }, z: { annotations: mine, container: password } });
  world.secret("db", { password: "two" });
  await world.pass(120);
  expect(world.restartCounts).toEqual({ a: 1, z: 0 });
  expect(world.memory?.length).toBeLessThan(2000);
});
