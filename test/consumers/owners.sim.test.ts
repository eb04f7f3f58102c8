// Owners of workloads who write back what they have: without what is written down, without the restart, again and again.
import { describe, expect, test } from "vitest";
import { startedWithAnnotation } from "../../packages/keyturn/src/controllers/consumers/annotations.ts";
import { auto, type ConsumersWorld, password, started } from "./consumers-world.ts";

const app = { app: { annotations: auto, container: password } };

/** Has `act` called every few seconds. */
async function every(world: ConsumersWorld, { periodS, forS }: { readonly periodS: number; readonly forS: number }, act: () => void): Promise<void> {
  for (let second = 0; second < forS; second += periodS) {
    act();
    await world.pass(periodS);
  }
}

describe("who takes off what is written down, again and again", () => {
  test.each([3, 60, 180])("every %i s: it is written ever more seldom, and that is said", async (periodS) => {
    const world = await started(app);
    const before = world.writes;
    await every(world, { periodS, forS: 3600 }, () => world.strip("app", startedWithAnnotation));
    expect(world.writes - before).toBeLessThanOrEqual(12);
    expect(world.restarts).toEqual([]);
    expect(new Set(world.eventsAbout("app"))).toEqual(new Set(["RecordTakenOff"]));
    // What changes meanwhile counts, once.
    world.secret("db", { password: "two" });
    await every(world, { periodS, forS: 600 }, () => world.strip("app", startedWithAnnotation));
    expect([world.restarts, world.labelled]).toEqual([["app"], []]);
  });

  test("once in a while: it is written again at once, and nothing is said", async () => {
    const world = await started(app);
    await every(world, { periodS: 900, forS: 3600 }, () => world.strip("app", startedWithAnnotation));
    expect(world.startedWith("app")).toBeDefined();
    expect(world.eventsAbout("app")).toEqual([]);
  });

  test("until they stop: then it stands again", async () => {
    const world = await started(app);
    await every(world, { periodS: 3, forS: 900 }, () => world.strip("app", startedWithAnnotation));
    await world.pass(3600);
    expect(world.startedWith("app")).toMatch(/^of=/);
  });
});

describe("who writes the whole object back", () => {
  test("right after the restart: once it was restarted, what it is behind with is said, and the next change counts", async () => {
    const world = await started(app);
    world.secret("db", { password: "two" });
    for (let tries = 0; tries < 600 && world.restarts.length === 0; tries++) await world.clock.advance(100);
    await world.clock.advance(500);
    world.writeBack("app");
    await world.pass(600);
    expect(world.restarts).toEqual(["app"]);
    expect(world.eventsAbout("app")).toContain("RestartTakenBack");
    expect(world.startedWith("app")).toMatch(/!/);
    world.secret("db", { password: "three" });
    await world.pass(300);
    expect([world.restarts, world.labelled]).toEqual([["app", "app"], []]);
    expect(world.startedWith("app")).not.toMatch(/!/);
  });

  test("once its rollout is finished, with what was written down before: no second restart", async () => {
    const world = await started(app);
    const before = world.startedWith("app") ?? "";
    world.secret("db", { password: "two" });
    await world.pass(300);
    expect([world.restarts, world.labelled]).toEqual([["app"], []]);
    await every(world, { periodS: 60, forS: 1200 }, () => world.writeBack("app", { [startedWithAnnotation]: before }));
    await world.pass(1200);
    expect(world.restarts).toEqual(["app"]);
    expect(world.startedWith("app")).not.toBe(before);
  });

  test("every minute: each change is one restart, and no more", async () => {
    const world = await started(app);
    const owner = () => world.writeBack("app");
    for (const value of ["two", "three", "four"]) {
      world.secret("db", { password: value });
      await every(world, { periodS: 60, forS: 600 }, owner);
    }
    expect(world.restarts).toEqual(["app", "app", "app"]);
    expect(world.writes).toBeLessThanOrEqual(80);
  });
});
