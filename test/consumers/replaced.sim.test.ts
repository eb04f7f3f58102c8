// Pods that are new anyway need no restart: their template was changed with what they use, or somebody replaced them by hand.
import { StatefulSet } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { auto, ConsumersWorld, password, started } from "./consumers-world.ts";

const using = { annotations: auto, container: password };
const current = /^of=[0-9a-f]{16}\.1,secret\/db\/password=[0-9a-f]{16}$/;

describe("a release that changes a Secret and a template", () => {
  test.each([100, 300, 2000, 8000])("the template %i ms after the Secret: nobody is restarted", async (afterMs) => {
    const world = await started({ app: using, other: using });
    world.secret("db", { password: "two" });
    await world.clock.advance(afterMs);
    world.deployment("app", { ...using, image: "app:2" });
    await world.pass(120);
    expect([world.restartCounts, world.startedWith("app")]).toEqual([{ app: afterMs < 5000 ? 0 : 1, other: 1 }, expect.stringMatching(current)]);
    world.secret("db", { password: "three" });
    await world.pass(120);
    expect(world.restartCounts).toMatchObject({ app: afterMs < 5000 ? 1 : 2, other: 2 });
  });

  test.each([0, 300, 2000])("the template %i ms before the Secret: its pods may have the old one, and are restarted once", async (beforeMs) => {
    const world = await started({ app: using });
    world.deployment("app", { ...using, image: "app:2" });
    await world.clock.advance(beforeMs);
    world.secret("db", { password: "two" });
    await world.pass(120);
    expect(world.restarts).toEqual(["app"]);
  });

  test("and the Secret again after that: one restart", async () => {
    const world = await started({ app: using });
    world.secret("db", { password: "two" });
    await world.clock.advance(300);
    world.deployment("app", { ...using, image: "app:2" });
    await world.clock.advance(300);
    world.secret("db", { password: "three" });
    await world.pass(120);
    expect(world.restarts).toEqual(["app"]);
  });

  test("as long as old pods are there, and when the template is put back, they count as behind", async () => {
    const world = await started({ app: using });
    world.secret("db", { password: "two" });
    await world.clock.advance(300);
    world.deployment("app", { ...using, image: "app:2" }, { updated: 0 });
    await world.pass(60);
    expect([world.restarts, world.startedWith("app")]).toEqual([[], expect.stringContaining("!")]);
    world.deployment("app", using);
    await world.pass(60);
    expect(world.restarts).toEqual(["app"]);
  });
});

describe("pods that were all made since", () => {
  test.each([
    [1, 1],
    [5, 0],
  ])("%i s after the Secret, while no operator was there: %i restarts", async (seconds, restarts) => {
    const world = await started({ app: using });
    world.pod("app");
    world.kill();
    world.secret("db", { password: "two" });
    await world.clock.advance(seconds * 1000);
    world.pod("app");
    world.start();
    await world.pass(120);
    expect([world.restarts.length, world.startedWith("app")]).toEqual([restarts, expect.stringMatching(current)]);
  });

  test.each([{ type: "OnDelete" }, { type: "RollingUpdate", rollingUpdate: { partition: 1 } }])(
    "by hand, of a StatefulSet with %o: it is no longer behind",
    async (strategy) => {
      const world = new ConsumersWorld();
      world.secret("db", { password: "one" });
      world.statefulSet("app", strategy, using);
      world.start();
      await world.pass(60);
      world.secret("db", { password: "two" });
      await world.pass(60);
      expect(world.startedWith("app", StatefulSet)).toContain("!");
      world.kill();
      world.start();
      await world.pass(60);
      expect(world.startedWith("app", StatefulSet)).toContain("!");
      world.pod("app", StatefulSet);
      await world.pass(60);
      expect(world.startedWith("app", StatefulSet)).toMatch(current);
    },
  );
});
