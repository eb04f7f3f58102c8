// A page that follows the stream, however it is cut, ends up with what a page that opens at the end gets.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Changes, DashboardRecord, SnapshotPart } from "@keyturn/dashboard/contract";
import { issuedFixture } from "./record.fixture.ts";
import { RecordStore } from "./record-store.ts";
import { type Rights, rightsOf, unlimitedRights } from "./viewer-rights.ts";

const names = ["a/x", "a/y", "b/x", "b/y", "c/x"];

const step = fc.oneof(
  fc.record({ type: fc.constant("put" as const), names: fc.subarray(names), message: fc.constantFrom("1", "2", "3") }),
  fc.record({ type: fc.constant("remove" as const), names: fc.subarray(names) }),
  fc.constant({ type: "read" as const }),
  fc.constant({ type: "cut" as const }),
);

const rights = fc.constantFrom<Rights>(unlimitedRights, rightsOf(new Map([["eventingauths.a", new Set(["a", "b"])]])));

/** A page, as simple as can be. */
class Page {
  records = new Map<string, DashboardRecord>();
  position: number | undefined;
  readonly #store: RecordStore;
  readonly #rights: Rights;

  constructor(store: RecordStore, seen: Rights) {
    this.#store = store;
    this.#rights = seen;
  }

  read(): void {
    if (this.position === undefined || !this.#store.covers(this.position)) {
      const { seq, frames } = this.#store.snapshot(this.#rights);
      const parts = frames.map((frame) => dataOf(frame) as SnapshotPart);
      this.records = new Map(parts.flatMap((part) => part.records.map((record) => [record.id, record])));
      this.position = seq;
    }
    for (let next = this.#store.after(this.position, this.#rights); next; next = this.#store.after(this.position, this.#rights)) {
      this.position = next.seq;
      if (!next.frame) continue;
      const { upserts, removals } = dataOf(next.frame) as Changes;
      for (const record of upserts) this.records.set(record.id, record);
      for (const id of removals) this.records.delete(id);
    }
  }
}

function dataOf(frame: Uint8Array): unknown {
  return JSON.parse(/^data: (.*)$/m.exec(Buffer.from(frame).toString())?.[1] ?? "");
}

test("whatever happens, and however little is remembered", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), rights, fc.integer({ min: 1, max: 5 }), (steps, seen, maxBatches) => {
      const store = new RecordStore("boot", { maxBatches, partBytes: 200 });
      const page = new Page(store, seen);
      for (const each of steps) {
        if (each.type === "put") {
          store.commit(
            each.names.map((name) => issuedFixture(name.slice(0, 1), name.slice(2), each.message)),
            [],
          );
        } else if (each.type === "remove") {
          store.commit(
            [],
            each.names.map((name) => `issued/${name}`),
          );
        } else if (each.type === "read") page.read();
        // What a page sends after a cut is the id of the last event that it got.
        else page.position = page.position === undefined ? undefined : store.positionOf(store.eventId(page.position, seen), seen);
      }
      page.read();
      const fresh = new Page(store, seen);
      fresh.read();
      expect(Object.fromEntries(page.records)).toEqual(Object.fromEntries(fresh.records));
    }),
  );
});
