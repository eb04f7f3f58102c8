// When an application that is not there counts as gone: not if most others are missing too, nor at another identity provider.
import { describe, expect, test } from "vitest";
import { IssuingWorld } from "./issuing-world.fixture.ts";

describe("an application that is gone like others", () => {
  const goneLike = (others: IssuingWorld["others"]): IssuingWorld => {
    const world = new IssuingWorld();
    world.run();
    world.nowMs += 60_000;
    world.run();
    world.applications.clear();
    world.others = others;
    return world;
  };

  test.each([
    { asked: 1, missing: 1 },
    { asked: 5, missing: 3 },
    { asked: 5, missing: 5 },
  ])("is not replaced: $missing of $asked others are missing too", (others) => {
    const world = goneLike(others);
    const id = world.status?.iasApplication?.uuid;
    world.run();
    expect(world.applications.size).toBe(0);
    expect(world.status).toMatchObject({ state: "NotReady", iasApplication: { uuid: id } });
    expect(world.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({ reason: "ApplicationsMissing" });
    world.deletedAt = new Date(world.nowMs).toISOString();
    expect(world.run()).toMatchObject({ type: "idle", reports: { blocker: { reason: "DeletionWaiting" } } });
    world.replaces = true;
    world.run();
    expect(world.released).toBe(true);
  });

  test.each([
    { asked: 0, missing: 0 },
    { asked: 2, missing: 1 },
    { asked: 5, missing: 2 },
  ])("is replaced: $missing of $asked others are missing", (others) => {
    const world = goneLike(others);
    world.run();
    expect([world.applications.size, world.status?.state]).toEqual([1, "Ready"]);
  });

  test("is replaced if somebody said so on the Secret with the credentials", () => {
    const world = goneLike({ asked: 5, missing: 5 });
    world.replaces = true;
    world.run();
    expect([world.applications.size, world.status?.state]).toEqual([1, "Ready"]);
  });
});

describe("an application that another identity provider does not have", () => {
  const moved = (): IssuingWorld => {
    const world = new IssuingWorld();
    world.run();
    world.nowMs += 60_000;
    world.run();
    world.applications.clear();
    world.url = "https://other";
    return world;
  };
  const missing = { type: "idle", reports: { blocker: { reason: "ApplicationsMissing", message: expect.stringContaining("https://tenant") } } };

  test("is not replaced, also where it is the only one, unless somebody says so", () => {
    const world = moved();
    expect(world.run()).toMatchObject(missing);
    expect([world.applications.size, world.status?.state]).toEqual([0, "NotReady"]);
    world.replaces = true;
    world.run();
    expect([world.applications.size, world.status?.state, world.seenAt]).toEqual([1, "Ready", "https://other"]);
  });

  test("does not count as deleted when its object is", () => {
    const world = moved();
    world.deletedAt = new Date(world.nowMs).toISOString();
    expect(world.run()).toMatchObject({ type: "idle", reports: { blocker: { reason: "DeletionWaiting" } } });
    world.abandon = "application";
    world.run();
    expect([world.released, world.abandoned]).toEqual([true, [`application ${world.status?.iasApplication?.uuid ?? ""}`]]);
  });

  test.each(["creation", "deletion"])("may be there even if nobody knows whether it was made: %s", (when) => {
    const world = new IssuingWorld();
    world.run({ atAct: 0, moment: "between" });
    world.applications.clear();
    world.url = "https://other";
    world.nowMs += 60_000;
    if (when === "deletion") world.deletedAt = new Date(world.nowMs).toISOString();
    expect(world.run()).toMatchObject({
      type: "idle",
      reports: { blocker: { message: expect.stringContaining("asked for at another one, https://tenant") } },
    });
    world.replaces = true;
    world.run();
    expect([world.released, world.applications.size]).toEqual(when === "deletion" ? [true, 0] : [false, 1]);
  });

  test("was deleted if it is the same one, however its address is spelled, or if its other name is known by now", () => {
    const world = moved();
    world.url = "HTTPS://tenant:443/";
    world.run();
    expect([world.applications.size, world.status?.state]).toEqual([1, "Ready"]);
    world.url = "https://alias";
    world.run();
    expect(world.seenAt).toBe("https://alias");
    world.nowMs += 60_000;
    world.run();
    world.applications.clear();
    world.run();
    expect([world.applications.size, world.status?.state]).toEqual([1, "Ready"]);
  });
});

describe("an application whose description is not listed", () => {
  const made = (descriptions: IssuingWorld["descriptions"]): IssuingWorld => {
    const world = new IssuingWorld();
    world.descriptions = descriptions;
    world.run({ atAct: 0, moment: "between" });
    return world;
  };

  test.each(["by id", "not kept"] as const)("is found again after the answer to the request for it was lost (%s)", (descriptions) => {
    const world = made(descriptions);
    world.run();
    expect([world.applications.size, world.status?.state]).toEqual([1, "Ready"]);
  });

  test.each(["by id", "not kept"] as const)("goes with its object, also where its id was never recorded (%s)", (descriptions) => {
    const world = made(descriptions);
    world.deletedAt = new Date(world.nowMs).toISOString();
    world.run();
    world.nowMs += 60_000;
    world.run();
    expect([world.applications.size, world.released]).toEqual([0, true]);
  });

  test("is known by its mark for as long as it lives", () => {
    const world = made("by id");
    world.run();
    world.nowMs += 60_000;
    world.run();
    world.status = undefined;
    world.run();
    expect([world.applications.size, world.status]).toMatchObject([1, { state: "Ready" }]);
  });

  test.each(["text", "other", "none"] as const)("is left alone if somebody else has made it (%s)", (trace) => {
    const world = new IssuingWorld();
    world.descriptions = "by id";
    world.makeSecret(world.makeApplication(trace));
    expect(world.run()).toMatchObject({ type: "idle", reports: { application: { holds: false } } });
    world.deletedAt = new Date(world.nowMs).toISOString();
    world.run();
    expect([world.applications.size, world.released]).toEqual([1, true]);
  });
});
