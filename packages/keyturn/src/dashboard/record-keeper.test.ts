// Records are made when something was touched, together, and anew when time has changed them.
import { createLogger } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { afterEach, expect, it } from "vitest";
import { RecordKeeper } from "./record-keeper.ts";
import type { Made, RecordScope } from "../feature/record.ts";
import { issuedFixture, stageFixture } from "./record.fixture.ts";
import { RecordStore } from "./record-store.ts";

let stop = new AbortController();
let running: Promise<void> | undefined;
afterEach(async () => {
  stop.abort();
  await running;
  stop = new AbortController();
});

function keep(make: (key: string, nowMs: number) => Made | undefined) {
  const clock = new VirtualClock();
  const store = new RecordStore("boot");
  const logged: string[] = [];
  const watch: RecordScope["watch"] = () => {
    throw new Error("nothing is watched here");
  };
  const flag: RecordScope["flag"] = () => {
    throw new Error("no flag is read here");
  };
  const log = createLogger({ destination: { write: (line) => logged.push(line) } });
  const keeper = new RecordKeeper({ store, clock, log, watch, flag, viewer: "page", unserved: [] });
  let touch: RecordScope["touch"] = () => {};
  keeper.add((scope) => {
    touch = scope.touch;
    return { step: "eventing-auth", resources: [], caches: () => [], ids: () => [], make };
  });
  keeper.addStages((touchStep) => {
    touchStep("step/eventing-auth");
    return { make: () => ({ record: stageFixture("x"), againAtMs: undefined }) };
  });
  running = keeper.run(stop.signal);
  return { clock, store, logged, touch: (key: string) => touch(key) };
}

const named = (key: string, message: string): Made => ({ record: issuedFixture("a", key.slice("issued/a/".length), message), againAtMs: undefined });

it("makes what was touched in one change, however often it was", async () => {
  let made = 0;
  const { clock, store, touch } = keep((key) => named(key, String(++made)));
  for (const key of ["issued/a/x", "issued/a/y", "issued/a/x"]) touch(key);
  await clock.advance(100);
  expect([store.seq, store.size, made]).toEqual([1, 3, 2]);
});

it("takes away what there is no longer", async () => {
  let isThere = true;
  const { clock, store, touch } = keep((key) => (isThere ? named(key, "") : undefined));
  touch("issued/a/x");
  await clock.advance(100);
  isThere = false;
  touch("issued/a/x");
  await clock.advance(100);
  expect([store.seq, store.json("issued/a/x")]).toEqual([2, undefined]);
});

it("makes a record anew when its time has come", async () => {
  const { clock, store, touch } = keep((key, nowMs) => ({
    ...named(key, nowMs < Date.UTC(2026, 0, 1, 0, 1) ? "before" : "after"),
    againAtMs: Date.UTC(2026, 0, 1, 0, 1),
  }));
  touch("issued/a/x");
  await clock.advance(59_000);
  expect(store.json("issued/a/x")).toContain('"before"');
  await clock.advance(3000);
  expect(store.json("issued/a/x")).toContain('"after"');
});

it("goes on with the others when one cannot be made", async () => {
  const { clock, store, touch, logged } = keep((key) => {
    if (key.endsWith("bad")) throw new Error("nobody foresaw this");
    return named(key, "");
  });
  touch("issued/a/bad");
  touch("issued/a/good");
  await clock.advance(100);
  expect(store.json("issued/a/good")).toBeDefined();
  expect(logged.join("")).toContain("could not make the record of an object");
});
