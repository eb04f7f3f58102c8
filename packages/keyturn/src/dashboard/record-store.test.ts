// What is sent to whom, and what is forgotten.
import { describe, expect, it } from "vitest";
import { issuedFixture as issued, stageFixture as step } from "./record.fixture.ts";
import { RecordStore } from "./record-store.ts";
import { rightsOf, unlimitedRights as everything } from "./viewer-rights.ts";

const onlyA = rightsOf(new Map([["eventingauths.a", new Set(["a"])]]));

function dataOf(frame: Uint8Array | undefined): unknown {
  return frame && JSON.parse(/^data: (.*)$/m.exec(Buffer.from(frame).toString())?.[1] ?? "");
}

describe("a change", () => {
  it("is sent with an id, to everybody from one serialisation", () => {
    const store = new RecordStore("boot");
    store.commit([issued("a", "x")], []);
    const first = store.after(0, everything);
    expect(Buffer.from(first?.frame ?? []).toString()).toMatch(/^event: changes\nid: boot:1:all\ndata: \{.*\}\n\n$/);
    expect(dataOf(first?.frame)).toEqual({ upserts: [issued("a", "x")], removals: [] });
    expect(store.after(0, everything)?.frame).toBe(first?.frame);
    expect(store.after(1, everything)).toBeUndefined();
  });

  it("that changes nothing is none", () => {
    const store = new RecordStore("boot");
    store.commit([issued("a", "x")], []);
    store.commit([issued("a", "x")], ["issued/a/never-was"]);
    expect(store.seq).toBe(1);
  });

  it("is sent only to those who may see it, also when something goes", () => {
    const store = new RecordStore("boot");
    store.commit([issued("a", "x"), issued("b", "y")], []);
    store.commit([], ["issued/b/y"]);
    store.commit([], ["issued/a/x"]);
    expect(dataOf(store.after(0, onlyA)?.frame)).toEqual({ upserts: [issued("a", "x")], removals: [] });
    expect(store.after(1, onlyA)).toEqual({ seq: 2, frame: undefined });
    expect(dataOf(store.after(2, onlyA)?.frame)).toEqual({ upserts: [], removals: ["issued/a/x"] });
  });

  it("notifies each who listens", () => {
    const store = new RecordStore("boot");
    let notified = 0;
    const stop = store.onChange(() => notified++);
    store.commit([issued("a", "x")], []);
    stop();
    store.commit([], ["issued/a/x"]);
    expect(notified).toBe(1);
  });
});

describe("a snapshot", () => {
  it("has the steps first, parts of about the wanted size, and an id at its end", () => {
    const store = new RecordStore("boot", { partBytes: 550 });
    store.commit([issued("a", "x"), issued("b", "y"), issued("c", "z")], []);
    store.commit([step("eventingauths.a")], []);
    const { seq, frames } = store.snapshot(everything);
    expect(seq).toBe(2);
    expect(frames.map(dataOf)).toEqual([
      { first: true, last: false, total: 4, records: [step("eventingauths.a"), issued("a", "x"), issued("b", "y")] },
      { first: false, last: true, total: 4, records: [issued("c", "z")] },
    ]);
    expect(frames.map((frame) => /^id: (.*)$/m.exec(Buffer.from(frame).toString())?.[1])).toEqual([undefined, "boot:2:all"]);
    expect(store.snapshot(everything)).toBe(store.snapshot(everything));
  });

  it("leaves out what may not be seen, and says which kinds that are", () => {
    const store = new RecordStore("boot");
    store.commit([step("eventingauths.a", "secrets"), issued("a", "x"), issued("b", "y")], []);
    expect(store.snapshot(onlyA).frames.map(dataOf)).toEqual([
      {
        first: true,
        last: true,
        total: 2,
        records: [{ ...step("eventingauths.a", "secrets"), hidden: ["secrets"], shownIn: ["a"] }, issued("a", "x")],
      },
    ]);
  });

  it("of nothing is one empty part", () => {
    expect(new RecordStore("boot").snapshot(everything).frames.map(dataOf)).toEqual([{ first: true, last: true, total: 0, records: [] }]);
  });
});

describe("a position", () => {
  it("is known again as long as all that followed is", () => {
    const store = new RecordStore("boot", { maxBatches: 2 });
    for (const name of ["a", "b", "c", "d"]) store.commit([issued("a", name)], []);
    expect([0, 1, 2, 3, 4, 5].map((seq) => store.covers(seq))).toEqual([false, false, true, true, true, false]);
    expect(store.positionOf(store.eventId(3, everything), everything)).toBe(3);
    expect(store.positionOf(store.eventId(3, onlyA), onlyA)).toBe(3);
    for (const other of [
      undefined,
      "",
      "boot",
      "boot:3",
      "boot:1:all",
      "boot:5:all",
      "boot:-1:all",
      "boot:3x:all",
      "other:3:all",
      "boot::all",
      "boot:03:all",
    ]) {
      expect(store.positionOf(other, everything)).toBeUndefined();
    }
  });

  it("of somebody with other rights is not known", () => {
    const store = new RecordStore("boot");
    store.commit([issued("a", "x")], []);
    expect(store.positionOf(store.eventId(1, everything), onlyA)).toBeUndefined();
  });

  it("is forgotten when changes are large", () => {
    const store = new RecordStore("boot", { maxBytes: 2000 });
    for (const name of ["a", "b", "c"]) store.commit([issued("a", name, "x".repeat(1500))], []);
    expect([0, 1, 2, 3].map((seq) => store.covers(seq))).toEqual([false, false, true, true]);
  });
});

it("knows where there are objects of a kind", () => {
  const store = new RecordStore("boot");
  store.commit([step("x"), issued("a", "x"), issued("b", "y")], []);
  expect([...store.namespacesOf("eventingauths.a")]).toEqual(["a", "b"]);
  expect([...store.namespacesOf("secrets")]).toEqual([]);
  expect(store.json("issued/a/x")).toBe(JSON.stringify(issued("a", "x")));
});

it("who sees a kind only in some namespaces learns in which", () => {
  const store = new RecordStore("boot");
  store.commit([step("eventingauths.a"), issued("b", "broken")], []);
  const [sent] = (dataOf(store.snapshot(onlyA).frames[0]) as { readonly records: readonly unknown[] }).records;
  expect(sent).toEqual({ ...step("eventingauths.a"), shownIn: ["a"] });
  const [all] = (dataOf(store.snapshot(rightsOf(new Map([["eventingauths.a", "everywhere"]]))).frames[0]) as { readonly records: readonly unknown[] })
    .records;
  expect(all).toEqual(step("eventingauths.a"));
});
