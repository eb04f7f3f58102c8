// How long an object that is as it should be is left alone.
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { IdleKeys } from "./controller.ts";
import { IssuingWorld } from "./issuing-world.fixture.ts";
import type { Observed } from "./observe.ts";
import type { Idle } from "./plan.ts";

const idle: Idle = { type: "idle", reports: {}, complete: true, nextAtMs: undefined };

function setUp() {
  const clock = new VirtualClock();
  const world = new IssuingWorld();
  world.run();
  const observed = (): Observed => ({ observation: world.observe(), provider: undefined, target: undefined });
  return { clock, world, observed, idleKeys: new IdleKeys({ clock, random: () => 1, checkEveryMs: 3_600_000 }) };
}

test("until the next check, if nothing changes", async () => {
  const { clock, observed, idleKeys } = setUp();
  expect(idleKeys.waitFor("a/b", observed())).toBeUndefined();
  expect(idleKeys.record("a/b", observed(), { idle, nowMs: 0 })).toEqual({ requeueAfterMs: 3_600_000 });
  expect(idleKeys.waitFor("a/b", observed())).toBe(3_600_000);
  await clock.advance(3_600_000);
  expect(idleKeys.waitFor("a/b", observed())).toBeUndefined();
});

test("not when something changed: the Secret, the status, an annotation", () => {
  const { world, observed, idleKeys } = setUp();
  idleKeys.record("a/b", observed(), { idle, nowMs: 0 });
  const { secret, status } = world;
  world.secret = undefined;
  expect(idleKeys.waitFor("a/b", observed())).toBeUndefined();
  world.secret = secret;
  world.status = { state: "NotReady" };
  expect(idleKeys.waitFor("a/b", observed())).toBeUndefined();
  world.status = status;
  world.abandon = "target";
  expect(idleKeys.waitFor("a/b", observed())).toBeUndefined();
  world.abandon = undefined;
  expect(idleKeys.waitFor("a/b", observed())).toBeDefined();
  idleKeys.forget("a/b");
  expect(idleKeys.waitFor("a/b", observed())).toBeUndefined();
});

test("only until something is due, and not at all if it is not as it should be", () => {
  const { observed, idleKeys } = setUp();
  expect(idleKeys.record("a/b", observed(), { idle: { ...idle, nextAtMs: 5000 }, nowMs: 1000 })).toEqual({ requeueAfterMs: 4000 });
  expect(idleKeys.waitFor("a/b", observed())).toBe(4000);
  expect(idleKeys.record("a/b", observed(), { idle: { ...idle, complete: false }, nowMs: 0 })).toEqual({ requeueAfterMs: 3_600_000 });
  expect(idleKeys.waitFor("a/b", observed())).toBeUndefined();
});
