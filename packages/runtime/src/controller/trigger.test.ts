// Whoever listens to a trigger hears of all there is, at their own pace, and of what changes meanwhile.
import { expect, it } from "vitest";
import { silentLog } from "../manager/lease-simulation.fixture.ts";
import { initialListPriority } from "../queue/work-queue.ts";
import { SmallWorld } from "./small-world.fixture.ts";
import { cacheTrigger, type Enqueue } from "./trigger.ts";

/** A listener to a world with the things a, b and c, and what it asked for. */
function listen() {
  const world = new SmallWorld();
  for (const name of ["a", "b", "c"]) world.put(name, 1);
  const asked: string[] = [];
  const trigger = cacheTrigger(world.cache, ({ key }) => [key], silentLog);
  const ask: Enqueue = (key, { priority }) => void asked.push(priority === initialListPriority ? `${key} in the list` : key);
  const { replay, stop } = trigger(ask);
  return { world, asked, replay: () => replay(ask), stop };
}

it("asks for the keys of one object with each step", () => {
  const { asked, replay } = listen();
  expect(asked).toEqual([]);
  const heard = Array.from(replay(), () => asked.length);
  expect(heard).toEqual([1, 2, 3]);
  expect(asked).toEqual(["test/a in the list", "test/b in the list", "test/c in the list"]);
});

it("hears of changes before, between and after the steps, until it stops", () => {
  const { world, asked, replay, stop } = listen();
  world.put("c", 2);
  for (const _step of replay()) if (asked.length === 2) world.put("d", 1);
  world.put("a", 2);
  stop();
  world.put("b", 2);
  expect(asked).toEqual(["test/c", "test/a in the list", "test/d", "test/b in the list", "test/c in the list", "test/a"]);
});
