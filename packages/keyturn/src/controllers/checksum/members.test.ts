// What a set says about its members.
import { expect, test } from "vitest";
import { leftOut, type Member } from "./ids.ts";
import { type Burst, MemberSet, stableAtMs, withChange } from "./members.ts";

const counted = (id: string, digest?: string): Member => ({ state: "counted", id, digest });

test("a set of objects that are all left out has the checksum of nothing, and says why", () => {
  const set = new MemberSet();
  set.set("b", leftOut("NumberMissing"));
  set.set("a-1", leftOut("VersionMissing"));
  expect(set.state()).toEqual({ ids: [], checksum: "d41d8cd98f00b204e9800998ecf8427e", sha256: undefined });
  expect(set.problems()).toEqual([
    { name: "a-1", reason: "VersionMissing" },
    { name: "b", reason: "NumberMissing" },
  ]);
  expect(set.size).toBe(2);
});

test("objects with the same id count each, and all but the first by name are named", () => {
  const set = new MemberSet();
  for (const name of ["c-7", "a-7", "b-007"]) set.set(name, counted("7-1"));
  expect(set.state().ids).toEqual(["7-1", "7-1", "7-1"]);
  expect(set.problems().map(({ name, reason }) => `${name} ${reason}`)).toEqual(["b-007 DuplicateId", "c-7 DuplicateId"]);
});

test("a changed content is another state even if the ids are the same", () => {
  const set = new MemberSet();
  set.set("a-7", counted("7-1", "one"));
  const before = set.state();
  expect(set.set("a-7", counted("7-1", "one"))).toBe(false);
  expect(set.state()).toBe(before);
  expect(set.set("a-7", counted("7-1", "two"))).toBe(true);
  expect(set.state().checksum).toBe(before.checksum);
  expect(set.state().sha256).not.toBe(before.sha256);
});

test("a state that was asked for does not change with the set", () => {
  const set = new MemberSet();
  set.set("a-7", counted("7-1"));
  const { ids } = set.state();
  set.delete("a-7");
  expect(ids).toEqual(["7-1"]);
  expect(set.state().ids).toEqual([]);
});

// When a burst is over.

test("a burst is over after a quiet time, and at the latest after ten times as long", () => {
  let burst: Burst | undefined;
  for (let nowMs = 0; nowMs <= 5000; nowMs += 500) burst = withChange(burst, nowMs);
  expect(burst && stableAtMs(burst, 2000)).toBe(7000);
  for (let nowMs = 5500; nowMs <= 60_000; nowMs += 500) burst = withChange(burst, nowMs);
  expect(burst && stableAtMs(burst, 2000)).toBe(20_000);
});

test("a single change waits for the quiet time alone; without one, nothing waits", () => {
  expect(stableAtMs(withChange(undefined, 100), 2000)).toBe(2100);
  expect(stableAtMs(withChange(undefined, 100), 0)).toBe(100);
});
