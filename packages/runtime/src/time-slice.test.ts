// Long work gives way: between two slices the event loop turns.
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { Store } from "./cache/store.ts";
import { type Clock, sharedTimeSlice, TimeSlice } from "./clock.ts";

/** A clock on which every look costs a millisecond. */
function tickingClock(): Clock {
  let nowMs = 0;
  return { now: () => nowMs, monotonic: () => nowMs++, setTimer: () => ({ cancel: () => {} }) };
}

it("is used up after a few milliseconds and fresh after a pause", async () => {
  const slice = new TimeSlice(tickingClock());
  let looks = 0;
  while (!slice.used) looks++;
  expect(looks).toBeLessThan(10);
  await slice.pause();
  expect(slice.used).toBe(false);
});

it("is shared by all with the same clock, and those who wait go on one slice each, in the order in which they paused", async () => {
  const clock = tickingClock();
  const turns: string[] = [];
  const work = async (name: string): Promise<void> => {
    const slice = sharedTimeSlice(clock);
    for (let piece = 0; piece < 50; piece++) {
      if (turns.at(-1) !== name) turns.push(name);
      if (slice.used) await slice.pause();
    }
  };
  await Promise.all([work("a"), work("b"), work("c")]);
  expect(turns.length).toBeGreaterThan(20);
  expect(turns.slice(0, 12)).toEqual(["a", "b", "c", "a", "b", "c", "a", "b", "c", "a", "b", "c"]);
});

it("lets timers have their turn, whatever it was that the event loop called", async () => {
  const slice = new TimeSlice(tickingClock());
  // A file that is read is served as sockets are.
  await readFile(import.meta.filename);
  let fired = false;
  setTimeout(() => (fired = true), 0);
  const dueMs = performance.now() + 2;
  while (performance.now() < dueMs);
  await slice.pause();
  expect(fired).toBe(true);
});

it("lets others run while a store notifies of a long list, and the whole list is readable meanwhile", async () => {
  const store = new Store<number>({ clock: tickingClock(), onFault: () => {} });
  let notified = 0;
  store.subscribe(() => void notified++);
  await store.take({ type: "init" });
  for (let i = 0; i < 200; i++) await store.take({ type: "initApply", object: { key: `k${i}`, uid: `u${i}`, resourceVersion: "1", value: i } });
  const done = store.take({ type: "initDone", resourceVersion: "1" });
  const seen: { readonly notified: number; readonly size: number; readonly synced: boolean }[] = [];
  const look = (): void => {
    seen.push({ notified, size: store.size, synced: store.synced });
    if (!store.synced) setImmediate(look);
  };
  setImmediate(look);
  await done;
  expect(seen.length).toBeGreaterThan(20);
  expect(seen.every(({ size }) => size === 200)).toBe(true);
  expect(seen.some(({ notified, synced }) => notified > 0 && notified < 200 && !synced)).toBe(true);
  expect(notified).toBe(200);
});
