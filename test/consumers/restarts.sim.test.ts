// Which changes restart which workloads, how often and in which order.
import { Secret } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { startedWithAnnotation } from "../../packages/keyturn/src/controllers/consumers/annotations.ts";
import { all, auto, password, started, type Using } from "./consumers-world.ts";

describe("what restarts a workload", () => {
  test("at first sight it is written down what pods were started with, and nobody is restarted", async () => {
    const world = await started({ app: { annotations: auto, container: password }, other: { container: password } });
    expect(world.startedWith("app")).toMatch(/^of=[0-9a-f]{16},secret\/db\/password=[0-9a-f]{16}\?$/);
    expect([world.startedWith("other"), world.restarts]).toEqual([undefined, []]);
  });

  test("a key that it uses, once; not one that it does not, and nothing that changes no content", async () => {
    const world = await started({ app: { annotations: auto, container: password } });
    world.secret("db", { password: "one", user: "other" });
    await world.pass(30);
    world.secret("db", { password: "one", user: "other" }, { note: "x" });
    await world.pass(30);
    expect(world.restarts).toEqual([]);
    world.secret("db", { password: "two", user: "other" });
    await world.pass(60);
    expect([world.restarts, world.labelled]).toEqual([["app"], []]);
    expect(world.eventsAbout("app")).toEqual(["CredentialRestart", "CredentialRolloutFinished"]);
  });

  test("several changes that come close together, once", async () => {
    const world = await started({ app: { annotations: auto, container: all } });
    for (const value of ["two", "three", "four", "five"]) {
      world.secret("db", { password: value });
      await world.clock.advance(1000);
    }
    await world.pass(120);
    expect(world.restarts).toEqual(["app"]);
  });

  test("changes that never stop do not keep it from being restarted", async () => {
    const world = await started({ app: { annotations: auto, container: all } });
    for (let second = 0; second < 120; second += 3) {
      world.secret("db", { password: String(second) });
      await world.pass(3);
    }
    expect(world.restarts.length).toBeGreaterThanOrEqual(1);
    expect(world.restarts.length).toBeLessThanOrEqual(3);
  });

  test("a change that came while no operator was there", async () => {
    const world = await started({ app: { annotations: auto, container: password } });
    world.kill();
    world.secret("db", { password: "two" });
    await world.pass(60);
    world.start();
    await world.pass(60);
    expect(world.restarts).toEqual(["app"]);
  });

  test("no new leader, and no start of an operator", async () => {
    const world = await started({ app: { annotations: auto, container: password } });
    for (let round = 0; round < 10; round++) {
      world.kill();
      world.start();
      await world.pass(60);
    }
    expect(world.restarts).toEqual([]);
  });

  test("a Secret that is deleted, no; one that is made again with other content, yes; with the same, no", async () => {
    const world = await started({ app: { annotations: auto, container: password } });
    world.remove(Secret, "db");
    await world.pass(60);
    world.secret("db", { password: "one" });
    await world.pass(60);
    expect(world.restarts).toEqual([]);
    world.remove(Secret, "db");
    await world.pass(60);
    world.secret("db", { password: "two" });
    await world.pass(60);
    expect(world.restarts).toEqual(["app"]);
  });

  test("an optional Secret that comes late; one that pods waited for does not", async () => {
    const late = (optional: boolean): Using => ({ annotations: auto, container: { envFrom: [{ secretRef: { name: "late", optional } }] } });
    const world = await started({ optional: late(true), waiting: late(false) });
    world.secret("late", { a: "1" });
    await world.pass(60);
    expect(world.restarts).toEqual(["optional"]);
    world.secret("late", { a: "2" });
    await world.pass(60);
    expect(world.restartCounts).toEqual({ optional: 2, waiting: 1 });
  });

  test("not a template that is changed to use something else: its pods are replaced anyway", async () => {
    const world = await started({ app: { annotations: auto, container: password } });
    world.deployment("app", { annotations: auto, container: { envFrom: [{ secretRef: { name: "db" } }] } });
    await world.pass(60);
    expect(world.restarts).toEqual([]);
    expect(world.startedWith("app")).toMatch(/^of=[0-9a-f]{16},secret\/db=[0-9a-f]{16}\?$/);
  });

  test("a change is seen although somebody has taken off what was written down", async () => {
    const world = await started({ app: { annotations: auto, container: password } });
    world.strip("app", startedWithAnnotation);
    world.secret("db", { password: "two" });
    await world.pass(60);
    expect(world.restarts).toEqual(["app"]);
  });

  test("after as long as it asks for, when it wants changes collected", async () => {
    const pause = { ...auto, "deployment.reloader.stakater.com/pause-period": "5m" };
    const world = await started({ app: { annotations: pause, container: all } });
    world.secret("db", { password: "two" });
    await world.pass(120);
    world.secret("db", { password: "three" });
    await world.pass(120);
    expect(world.restarts).toEqual([]);
    await world.pass(120);
    expect(world.restarts).toEqual(["app"]);
  });
});

describe("one bad Secret", () => {
  const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const users = Object.fromEntries(names.map((name) => [name, { annotations: auto, container: password }]));

  test("is taken by one workload, which stops the others", async () => {
    const world = await started(users);
    for (const name of names) world.unhealthy.add(name);
    world.secret("db", { password: "bad" });
    await world.pass(1800);
    expect(world.restarts).toEqual(["a"]);
    expect(world.eventsAbout("a")).toContain("RolloutStuck");
    // People see on each of them that it is behind.
    expect(world.startedWith("b")).toMatch(/!$/);
    // A good one is taken by all.
    world.unhealthy.clear();
    world.secret("db", { password: "good" });
    await world.pass(600);
    expect(world.labelled).toEqual([]);
    expect(world.restartCounts).toEqual(Object.fromEntries(names.map((name) => [name, name === "a" ? 2 : 1])));
    expect(world.startedWith("b")).not.toContain("!");
  });

  test("and a good one goes through the fleet within its budget, after the first", async () => {
    const world = await started(users, { "consumers.max-rollouts": "2" });
    world.secret("db", { password: "two" });
    await world.pass(300);
    expect(world.restarts.toSorted()).toEqual(names);
    expect(world.mostRolling).toBe(2);
  });

  test("those with a higher priority are first", async () => {
    const first = { ...auto, "keyturn.io/restart-priority": "10" };
    const world = await started({ ...users, h: { annotations: first, container: password } }, { "consumers.max-rollouts": "1" });
    world.secret("db", { password: "two" });
    await world.pass(300);
    expect(world.restarts[0]).toBe("h");
  });
});
