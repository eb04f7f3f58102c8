// Whoever listens to a trigger hears of all there is, at their own pace, and of what changes meanwhile.
import { describe, expect, it } from "vitest";
import type { Change } from "../cache/cache.ts";
import { silentLog } from "../manager/lease-simulation.fixture.ts";
import { initialListPriority } from "../queue/work-queue.ts";
import { SmallWorld, type Thing } from "./small-world.fixture.ts";
import { annotationsChanged, cacheTrigger, type Enqueue, generationChanged, labelsChanged, statesOf } from "./trigger.ts";

/** A listener to a world with the things a, b and c, and what it asked for. */
function listen() {
  const world = new SmallWorld();
  for (const name of ["a", "b", "c"]) world.put(name, 1);
  const asked: string[] = [];
  const trigger = cacheTrigger({ cache: world.cache }, silentLog);
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

describe("changes that count", () => {
  const before = { metadata: { generation: 1, labels: { a: "1" }, annotations: { b: "1" } } };
  const updated = (metadata: object): Change<typeof before> => ({
    type: "updated",
    key: "test/a",
    previous: before,
    value: { metadata: { ...before.metadata, ...metadata } },
  });
  it.each([
    [{}, [false, false, false]],
    [{ generation: 2 }, [true, false, false]],
    [{ deletionTimestamp: "2026-01-01T00:00:00Z" }, [true, false, false]],
    [{ labels: { a: "2" } }, [false, true, false]],
    [{ annotations: {} }, [false, false, true]],
  ])("%j", (metadata, counts) => {
    expect([generationChanged, labelsChanged, annotationsChanged].map((counted) => counted(updated(metadata)))).toEqual(counts);
    expect(generationChanged({ type: "deleted", key: "test/a", previous: before })).toBe(true);
  });

  it("are the only ones that wake a key", () => {
    const world = new SmallWorld();
    world.put("a", 1);
    const asked: string[] = [];
    const { stop } = cacheTrigger(
      { cache: world.cache, when: (change) => "value" in change && change.value.size !== 2 },
      silentLog,
    )((key) => void asked.push(key));
    world.put("a", 2);
    world.put("a", 3);
    stop();
    expect(asked).toEqual(["test/a"]);
  });
});

describe("a trigger whose functions throw", () => {
  /** What is asked for while a thing goes from one size to another; even sizes cannot be read. */
  function askedFor(sizes: readonly number[], source: Partial<Parameters<typeof cacheTrigger<Thing>>[0]>): readonly string[] {
    const world = new SmallWorld();
    const asked: string[] = [];
    const { stop } = cacheTrigger({ cache: world.cache, ...source }, silentLog)((key) => void asked.push(key));
    for (const size of sizes) world.put("a", size);
    stop();
    return asked;
  }
  const oddOnly = ({ size = 0 }: Pick<Thing, "size">): number => {
    if (size % 2 === 0) throw new TypeError("even");
    return size;
  };

  it("wakes the keys of the state that can be read, before or after", () => {
    const keysOf = (change: Change<Thing>) => statesOf(change).map((thing) => `of ${oddOnly(thing)}`);
    expect(askedFor([2, 3, 4, 6], { keysOf })).toEqual(["of 3", "of 3"]);
  });

  it("counts what cannot be judged", () => {
    const when = (change: Change<Thing>) => "value" in change && oddOnly(change.value) > 1;
    expect(askedFor([1, 2, 3], { when })).toEqual(["test/a", "test/a"]);
  });
});
