// Waits for writes, held against looking at every wait after every event.
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { defineKind } from "../client/kind.ts";
import type { WriteRecord } from "../controller/run.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { compareResourceVersions, type WatchEvent } from "../watch/step.ts";
import { Store } from "./store.ts";
import { WriteTracker } from "./write-tracker.ts";

const kind = defineKind({ group: "test", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });
const key = fc.constantFrom("ns/a", "ns/b", "ns/c");
const uid = fc.constantFrom("1", "2");
const version = fc.integer({ min: 1, max: 30 }).map(String);
/** Some that other servers may give out, and that no number of ours compares with. */
const writtenVersion = fc.oneof({ weight: 9, arbitrary: version }, { weight: 1, arbitrary: fc.constantFrom("x-1", "007") });

const write: fc.Arbitrary<WriteRecord> = fc.oneof(
  fc.record({ type: fc.constant("written" as const), kind: fc.constant(kind), key, uid, resourceVersion: writtenVersion, labels: fc.constant({}) }),
  fc.record({ type: fc.constant("deleted" as const), kind: fc.constant(kind), key, uid: fc.option(uid, { nil: undefined }) }),
);
const object = fc.record({ key, uid, resourceVersion: version, value: fc.constant(0) });
const happening = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("wait" as const), write }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("apply" as const), object }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("delete" as const), object }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("progress" as const), resourceVersion: version }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("list" as const), objects: fc.array(object, { maxLength: 2 }), resourceVersion: version }) },
);

/** One wait of the model, which looks at it after every event. */
interface ModelWait {
  readonly write: WriteRecord;
  readonly listsBegun: number;
  readonly bookmarks: number;
  result: boolean | undefined;
}

/** The rules, without any thought for speed. */
class Model {
  readonly waits: ModelWait[] = [];
  readonly #store: Store<unknown>;

  constructor(store: Store<unknown>) {
    this.#store = store;
  }

  begin(record: WriteRecord): void {
    const { listsBegun, bookmarks } = this.#store.position;
    const wait: ModelWait = { write: record, listsBegun, bookmarks, result: undefined };
    if (this.#shows(record)) wait.result = true;
    this.waits.push(wait);
  }

  look(): void {
    // Again until nothing ends: the end of a wait for an object that was made may end one for its deletion.
    for (let ended = true; ended;) {
      ended = false;
      for (const wait of this.waits) {
        if (wait.result !== undefined) continue;
        const { lastListDone, bookmarks } = this.#store.position;
        const relisted = lastListDone > wait.listsBegun;
        const shown = this.#shows(wait.write);
        if (!shown && !relisted && bookmarks < wait.bookmarks + 2) continue;
        wait.result = this.#holds(wait.write) || (shown && !relisted);
        ended = true;
      }
    }
  }

  #holds(record: WriteRecord): boolean {
    const held = this.#store.get(record.key);
    if (record.type === "deleted") return !held;
    return held?.uid === record.uid && held.resourceVersion === record.resourceVersion;
  }

  #shows(record: WriteRecord): boolean {
    const { synced, position } = this.#store;
    if (record.type === "written") {
      const reached = compareResourceVersions(position.resourceVersion ?? "", record.resourceVersion);
      return this.#holds(record) || (reached !== undefined && reached >= 0);
    }
    const held = this.#store.get(record.key);
    const awaited = this.waits.some(
      ({ write: other, result }) =>
        result === undefined && other.type === "written" && other.key === record.key && record.uid !== undefined && other.uid === record.uid,
    );
    return synced && (held ? record.uid !== undefined && held.uid !== record.uid : !awaited);
  }
}

it("a wait ends at the event that ends it, with the result that the rules give, however many others there are", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 60 }), async (happenings) => {
      const store = new Store<unknown>({ clock: new VirtualClock(), onFault: ({ error }) => expect.unreachable(String(error)) });
      const tracker = new WriteTracker(store);
      const model = new Model(store);
      const results: (boolean | undefined)[] = [];
      const take = async (event: WatchEvent<unknown>): Promise<void> => {
        await store.take(event);
        model.look();
      };
      for (const each of happenings) {
        if (each.type === "wait") {
          const index = results.push(undefined) - 1;
          model.begin(each.write);
          void tracker.whenObserved(each.write).then((shown) => (results[index] = shown));
        } else if (each.type === "list") {
          await take({ type: "init" });
          for (const listed of each.objects) await take({ type: "initApply", object: listed });
          await take({ type: "initDone", resourceVersion: each.resourceVersion });
        } else {
          await take(each);
        }
        await Promise.resolve();
        expect(results).toEqual(model.waits.map(({ result }) => result));
      }
    }),
    { numRuns: 500 },
  );
});
