// The queue's promises, one by one.
import { expect, test } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { clampedDelayMs, WorkQueue, initialListPriority } from "./work-queue.ts";

function setUp() {
  const clock = new VirtualClock();
  const ready: number[] = [];
  const queue = new WorkQueue({ clock, onReady: () => ready.push(clock.monotonic()) });
  const takeAll = (): string[] => {
    const keys: string[] = [];
    for (let taken = queue.take(); taken; taken = queue.take()) keys.push(taken.key);
    return keys;
  };
  return { clock, queue, ready, takeAll };
}

test("a key added twice is handed out once", () => {
  const { queue, takeAll } = setUp();
  queue.add("a");
  queue.add("a");
  expect(takeAll()).toEqual(["a"]);
});

test("a key added while it runs is handed out once more, after done", () => {
  const { queue, takeAll } = setUp();
  queue.add("a");
  expect(takeAll()).toEqual(["a"]);
  queue.add("a");
  queue.add("a");
  expect(takeAll()).toEqual([]);
  queue.done("a");
  expect(takeAll()).toEqual(["a"]);
  queue.done("a");
  expect(takeAll()).toEqual([]);
});

test("live changes overtake the initial list, and raise a key that is in it", () => {
  const { queue, takeAll } = setUp();
  for (const key of ["a", "b", "c"]) queue.add(key, { priority: initialListPriority });
  queue.add("c");
  queue.add("d");
  expect(takeAll()).toEqual(["c", "d", "a", "b"]);
});

test("a priority that is no number does not upset the order of the others", () => {
  const { queue, takeAll } = setUp();
  for (const [key, priority] of Object.entries({ a: 0, b: Number.NaN, c: 5, d: Number.NaN, e: 10, f: -3, g: Infinity, h: -Infinity, i: 7 }))
    queue.add(key, { priority });
  queue.add("f", { priority: Number.NaN });
  expect(takeAll()).toEqual(["g", "e", "i", "c", "a", "b", "d", "f", "h"]);
});

test.each<[unknown, number]>([
  [Number.NaN, 1_000],
  [0, 1_000],
  [-5, 1_000],
  [5n, 1_000],
  [Symbol("soon"), 1_000],
  ["7", 1_000],
  [null, 1_000],
  [new Date(0), 1_000],
  [0.5, 10],
  [Infinity, 315_360_000_000],
])("a delay of %s counts as %i ms", (askedMs, delayMs) => {
  expect(clampedDelayMs(askedMs)).toBe(delayMs);
});

test("of two delays the earlier counts, and an add without delay supersedes both", async () => {
  const { clock, queue, takeAll } = setUp();
  queue.add("a", { afterMs: 100 });
  queue.add("a", { afterMs: 50 });
  queue.add("a", { afterMs: 200 });
  queue.add("b", { afterMs: 100 });
  queue.add("b");
  expect(takeAll()).toEqual(["b"]);
  queue.done("b");
  await clock.advance(49);
  expect(takeAll()).toEqual([]);
  await clock.advance(1);
  expect(takeAll()).toEqual(["a"]);
  queue.done("a");
  await clock.advance(1000);
  expect(takeAll()).toEqual([]);
});

test("a delayed add during a run counts from the add, not from done", async () => {
  const { clock, queue, ready, takeAll } = setUp();
  queue.add("a");
  takeAll();
  queue.add("a", { afterMs: 100 });
  await clock.advance(60);
  queue.done("a");
  expect(takeAll()).toEqual([]);
  await clock.advance(40);
  expect(ready).toEqual([0, 100]);
  expect(takeAll()).toEqual(["a"]);
});

test("close drops what waits, cancels the timer and takes nothing more", () => {
  const { clock, queue, takeAll } = setUp();
  queue.add("a");
  takeAll();
  queue.add("a");
  queue.add("b");
  queue.add("c", { afterMs: 10 });
  queue.close();
  queue.done("a");
  queue.add("d");
  expect(takeAll()).toEqual([]);
  expect([queue.readyCount, queue.delayedCount, clock.nextTimerInMs]).toEqual([0, 0, undefined]);
});

test("100,000 keys need one timer and come out sorted", async () => {
  const { clock, queue } = setUp();
  const count = 100_000;
  for (let i = 0; i < count; i++) queue.add(`key-${i}`, { afterMs: (i * 7919) % 1000, priority: i % 3 });
  await clock.advance(1000);
  const priorities: number[] = [];
  for (let taken = queue.take(); taken; taken = queue.take()) priorities.push(taken.priority);
  expect(priorities).toHaveLength(count);
  expect(priorities.every((priority, index) => index === 0 || priority <= (priorities[index - 1] ?? 0))).toBe(true);
});
