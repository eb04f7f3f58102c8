// The store and its indexes against the plainest model there is: a map, rebuilt from every event.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import type { Observed, WatchEvent } from "../watch/step.ts";
import type { Change } from "./cache.ts";
import { Store } from "./store.ts";

interface Thing {
  readonly colours: readonly string[];
}

const object: fc.Arbitrary<Observed<Thing>> = fc.record({
  key: fc.constantFrom("ns/a", "ns/b", "ns/c", "other/a", "other/b"),
  uid: fc.constantFrom("u1", "u2"),
  resourceVersion: fc.integer({ min: 1, max: 5 }).map(String),
  value: fc.record({ colours: fc.subarray(["red", "green", "blue"]) }),
});
const resourceVersion = fc.nat().map(String);

/** A list, complete or broken off, or a single live event. */
const burst: fc.Arbitrary<readonly WatchEvent<Thing>[]> = fc.oneof(
  fc
    .record({ objects: fc.array(object, { maxLength: 6 }), done: fc.boolean(), taken: fc.option(object, { nil: undefined }), resourceVersion })
    .map(({ objects, done, taken, resourceVersion }) => {
      const events: WatchEvent<Thing>[] = [{ type: "init" }];
      for (const object of objects) events.push({ type: "initApply", object });
      if (taken) events.push({ type: "delete", object: taken });
      if (done) events.push({ type: "initDone", resourceVersion });
      return events;
    }),
  object.map((object): readonly WatchEvent<Thing>[] => [{ type: "apply", object }]),
  object.map((object): readonly WatchEvent<Thing>[] => [{ type: "delete", object }]),
  resourceVersion.map((resourceVersion): readonly WatchEvent<Thing>[] => [{ type: "progress", resourceVersion }]),
);

/** What a store must show after `events`. Between an `init` and its `initDone` a watch sends nothing but the list. */
function modelOf(events: readonly WatchEvent<Thing>[]): Map<string, Observed<Thing>> {
  let shown = new Map<string, Observed<Thing>>();
  let listed: Map<string, Observed<Thing>> | undefined;
  for (const event of events) {
    if (event.type === "init") listed = new Map();
    else if (event.type === "initApply") listed?.set(event.object.key, event.object);
    else if (event.type === "initDone") [shown, listed] = [listed ?? shown, undefined];
    else if (event.type === "apply") shown.set(event.object.key, event.object);
    else if (event.type === "delete") (listed ?? shown).delete(event.object.key);
  }
  return shown;
}

/** Events as a watch sends them: after a list that broke off the next thing is another list. */
const events = fc.array(burst, { maxLength: 25 }).map((bursts) => {
  const sent: WatchEvent<Thing>[] = [];
  let broken = true;
  for (const events of bursts) {
    const isList = events[0]?.type === "init";
    if (broken && !isList) continue;
    sent.push(...events);
    broken = isList && events.at(-1)?.type !== "initDone";
  }
  return sent;
});

const byColour = (thing: { readonly colours: readonly string[] }): readonly string[] => thing.colours;
const byNamespace = (_: unknown, key: string): readonly string[] => [key.split("/")[0] ?? ""];

function retell(changes: readonly Change<Thing>[]): Map<string, unknown> {
  const believed = new Map<string, unknown>();
  for (const change of changes) {
    expect(believed.get(change.key)).toBe(change.type === "added" ? undefined : change.previous);
    if (change.type === "deleted") believed.delete(change.key);
    else believed.set(change.key, change.value);
  }
  return believed;
}

describe("Store", () => {
  it("shows what the events say; indexes and listeners agree with it, whenever they came", async () => {
    await fc.assert(
      fc.asyncProperty(events, fc.nat(60), async (events, lateAt) => {
        const faults: unknown[] = [];
        const store = new Store<Thing>({ clock: new VirtualClock(), onFault: (fault) => void faults.push(fault) });
        const early: Change<Thing>[] = [];
        const late: Change<Thing>[] = [];
        store.addIndex(byColour);
        store.subscribe((change) => void early.push(change));
        store.subscribe(() => {
          throw new Error("a bad listener");
        });
        for (const [i, event] of events.entries()) {
          if (i === lateAt) {
            store.addIndex(byNamespace);
            store.subscribe((change) => void late.push(change));
          }
          await store.take(event);
        }
        const model = modelOf(events);
        const values = new Map([...model].map(([key, { value }]) => [key, value]));
        expect(new Map([...store.entries()].map(([key, { value }]) => [key, value]))).toEqual(values);
        for (const [key, { uid, resourceVersion }] of store.entries()) expect({ uid, resourceVersion }).toMatchObject({ uid: model.get(key)?.uid });
        for (const colour of ["red", "green", "blue"]) {
          const expected = [...model.values()].filter(({ value }) => value.colours.includes(colour)).map(({ key }) => key);
          expect([...store.keysUnder(byColour, colour)].sort()).toEqual(expected.sort());
        }
        expect(retell(early)).toEqual(values);
        const cameLate = lateAt < events.length;
        expect(retell(late)).toEqual(cameLate ? values : new Map());
        const inNamespace = [...model.keys()].filter((key) => cameLate && key.startsWith("ns/"));
        expect([...store.keysUnder(byNamespace, "ns")].sort()).toEqual(inNamespace.sort());
        expect(faults).toHaveLength(early.length);
      }),
      { numRuns: 1000 },
    );
  });

  it("distinguishes a recreation from an update, and neither from what stayed as it was", async () => {
    const store = new Store<string>({ clock: new VirtualClock(), onFault: () => {} });
    const changes: Change<string>[] = [];
    const list = async (...objects: readonly Observed<string>[]): Promise<void> => {
      await store.take({ type: "init" });
      for (const object of objects) await store.take({ type: "initApply", object });
      await store.take({ type: "initDone", resourceVersion: "9" });
    };
    const at = (key: string, uid: string, resourceVersion: string): Observed<string> => ({
      key,
      uid,
      resourceVersion,
      value: `${key} ${uid} ${resourceVersion}`,
    });
    store.subscribe((change) => void changes.push(change));
    await list(at("same", "u1", "1"), at("updated", "u2", "1"), at("recreated", "u3", "1"), at("gone", "u4", "1"));
    expect(changes.splice(0)).toHaveLength(4);
    await list(at("same", "u1", "1"), at("updated", "u2", "2"), at("recreated", "u5", "3"), at("new", "u6", "4"));
    expect(changes).toEqual([
      { type: "deleted", key: "gone", previous: "gone u4 1" },
      { type: "updated", key: "updated", value: "updated u2 2", previous: "updated u2 1", listed: true },
      { type: "replaced", key: "recreated", value: "recreated u5 3", previous: "recreated u3 1", listed: true },
      { type: "added", key: "new", value: "new u6 4", initial: false },
    ]);
    changes.length = 0;
    await store.take({ type: "apply", object: at("same", "u7", "10") });
    expect(changes).toEqual([{ type: "replaced", key: "same", value: "same u7 10", previous: "same u1 1" }]);
  });

  it("takes a state that an index function throws for, or gives no list for, as one that cannot be read: the last one stays, in every index, also over lists", async () => {
    const faults: unknown[] = [];
    const store = new Store<string>({ clock: new VirtualClock(), onFault: ({ what, key }) => void faults.push([what, key]) });
    const heard: string[] = [];
    store.subscribe(({ type, key }) => void heard.push(`${type} ${key}`));
    store.onUnreadable((key) => void heard.push(`unreadable ${key}`));
    const picky = (value: string): readonly string[] => {
      if (value === "bad") throw new Error("picky");
      // As a field that the type promises and the object lacks.
      return value === "odd" ? JSON.parse("{}").list : [value];
    };
    const length = (value: string): readonly string[] => [String(value.length)];
    for (const index of [length, picky]) store.addIndex(index);
    const at = (key: string, resourceVersion: string, value: string): Observed<string> => ({ key, uid: `uid-${key}`, resourceVersion, value });
    const shown = (): unknown => [store.get("a")?.value, [...store.keysUnder(picky, "good")], [...store.keysUnder(length, "4")]];
    await store.take({ type: "init" });
    await store.take({ type: "initApply", object: at("never", "1", "bad") });
    await store.take({ type: "initDone", resourceVersion: "1" });
    await store.take({ type: "apply", object: at("a", "2", "good") });
    for (const [resourceVersion, value] of [
      ["3", "bad"],
      ["4", "odd"],
    ] as const) {
      await store.take({ type: "apply", object: at("a", resourceVersion, value) });
      expect(shown()).toEqual(["good", ["a"], ["a"]]);
      expect(store.unreadable.get("a")).toMatchObject({ resourceVersion });
    }
    await store.take({ type: "init" });
    await store.take({ type: "initApply", object: at("a", "4", "odd") });
    await store.take({ type: "initDone", resourceVersion: "5" });
    expect(shown()).toEqual(["good", ["a"], ["a"]]);
    expect([...store.unreadable.keys()]).toEqual(["a"]);
    await store.take({ type: "apply", object: at("a", "6", "fine") });
    expect([store.get("a")?.value, store.unreadable.size, [...store.keysUnder(picky, "fine")]]).toEqual(["fine", 0, ["a"]]);
    expect(heard).toEqual(["unreadable never", "added a", "unreadable a", "unreadable a", "updated a"]);
    // Each state once, however often it is listed.
    expect(faults).toEqual([
      ["index", "never"],
      ["index", "a"],
      ["index", "a"],
    ]);
    store.addIndex((value) => {
      throw new Error(value);
    });
    expect([store.get("a")?.value, [...store.unreadable.keys()]]).toEqual(["fine", ["a"]]);
  });

  it("takes objects that are nested as deeply as an API server stores them, and deeper", async () => {
    const store = new Store<unknown>({ clock: new VirtualClock(), onFault: () => {} });
    for (const resourceVersion of ["9", "9"]) {
      await store.take({ type: "init" });
      for (const depth of [10_000, 100_000]) {
        const value: unknown = JSON.parse(`${'{"a":['.repeat(depth)}1${"]}".repeat(depth)}`);
        await store.take({ type: "initApply", object: { key: `${depth}`, uid: "u", resourceVersion, value } });
      }
      await store.take({ type: "initDone", resourceVersion });
    }
    expect([store.synced, store.size]).toEqual([true, 2]);
  });
});
