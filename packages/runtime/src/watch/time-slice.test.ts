// Long work gives way: between two slices the event loop turns.
import { expect, it } from "vitest";
import { Store } from "../cache/store.ts";
import type { Clock } from "../clock.ts";
import { TimeSlice } from "./time-slice.ts";

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

it("lets others run while a store tells of a long list, and the whole list is readable meanwhile", async () => {
  const store = new Store<number>({ clock: tickingClock(), onFault: () => {} });
  let told = 0;
  store.subscribe(() => void told++);
  await store.take({ type: "init" });
  for (let i = 0; i < 200; i++) await store.take({ type: "initApply", object: { key: `k${i}`, uid: `u${i}`, resourceVersion: "1", value: i } });
  const done = store.take({ type: "initDone", resourceVersion: "1" });
  const seen: { readonly told: number; readonly size: number; readonly synced: boolean }[] = [];
  const look = (): void => {
    seen.push({ told, size: store.size, synced: store.synced });
    if (!store.synced) setImmediate(look);
  };
  setImmediate(look);
  await done;
  expect(seen.length).toBeGreaterThan(20);
  expect(seen.every(({ size }) => size === 200)).toBe(true);
  expect(seen.some(({ told, synced }) => told > 0 && told < 200 && !synced)).toBe(true);
  expect(told).toBe(200);
});
