// How long an object that is as it should be is left alone.
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { IssuingWorld } from "./issuing-world.fixture.ts";
import type { Observed } from "./observe.ts";
import { IdleKeys } from "./controller.ts";
import type { Rest } from "./plan.ts";

const rest: Rest = { type: "rest", verdicts: {}, settled: true, nextAtMs: undefined };

function setUp() {
  const clock = new VirtualClock();
  const world = new IssuingWorld();
  world.run();
  const observed = (): Observed => ({ observation: world.observe(), provider: undefined, target: undefined });
  return { clock, world, observed, settled: new IdleKeys({ clock, random: () => 1, checkEveryMs: 3_600_000 }) };
}

test("until the next check, if nothing changes", async () => {
  const { clock, observed, settled } = setUp();
  expect(settled.waitFor("a/b", observed())).toBeUndefined();
  expect(settled.settle("a/b", observed(), { rest, nowMs: 0 })).toEqual({ requeueAfterMs: 3_600_000 });
  expect(settled.waitFor("a/b", observed())).toBe(3_600_000);
  await clock.advance(3_600_000);
  expect(settled.waitFor("a/b", observed())).toBeUndefined();
});

test("not when something changed: the Secret, the status, an annotation", () => {
  const { world, observed, settled } = setUp();
  settled.settle("a/b", observed(), { rest, nowMs: 0 });
  const { secret, status } = world;
  world.secret = undefined;
  expect(settled.waitFor("a/b", observed())).toBeUndefined();
  world.secret = secret;
  world.status = { state: "NotReady" };
  expect(settled.waitFor("a/b", observed())).toBeUndefined();
  world.status = status;
  world.abandon = "target";
  expect(settled.waitFor("a/b", observed())).toBeUndefined();
  world.abandon = undefined;
  expect(settled.waitFor("a/b", observed())).toBeDefined();
  settled.forget("a/b");
  expect(settled.waitFor("a/b", observed())).toBeUndefined();
});

test("only until something is due, and not at all if it is not as it should be", () => {
  const { observed, settled } = setUp();
  expect(settled.settle("a/b", observed(), { rest: { ...rest, nextAtMs: 5000 }, nowMs: 1000 })).toEqual({ requeueAfterMs: 4000 });
  expect(settled.waitFor("a/b", observed())).toBe(4000);
  expect(settled.settle("a/b", observed(), { rest: { ...rest, settled: false }, nowMs: 0 })).toEqual({ requeueAfterMs: 3_600_000 });
  expect(settled.waitFor("a/b", observed())).toBeUndefined();
});
