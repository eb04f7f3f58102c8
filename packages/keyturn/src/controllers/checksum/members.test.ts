// What a set says about its members.
import { expect, test } from "vitest";
import { checksumOf, leftOut, type Member } from "./ids.ts";
import { type Burst, MemberSet, stableAtMs, wideMembers, withChange } from "./members.ts";
import { scopesOf } from "./scopes.ts";

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

// Several namespaces as one set: what Tengine computes by default.

const withContent = (id: string): Member => ({ state: "counted", id, digest: `content of ${id}` });

function setOf(members: Readonly<Record<string, Member>>): MemberSet {
  const set = new MemberSet();
  for (const [name, member] of Object.entries(members)) set.set(name, member);
  return set;
}

test("ids are counted without their namespace, in one order", () => {
  const wide = wideMembers(
    new Map([
      ["shop", setOf({ "a-2": withContent("2-1-x") })],
      ["bank", setOf({ "b-10": withContent("10-1-y") })],
    ]),
  );
  expect(wide.state()).toMatchObject({ ids: ["10-1-y", "2-1-x"], checksum: checksumOf(["2-1-x", "10-1-y"]) });
  expect(wide.get("shop/a-2")).toEqual(withContent("2-1-x"));
});

test("the same number in two namespaces is reported as not unique, and counts", () => {
  const sets = new Map([
    ["bank", setOf({ "a-7": withContent("7-1-x"), wild: leftOut("NumberMissing") })],
    ["shop", setOf({ "a-7": withContent("7-2-y"), "b-7": withContent("7-1-x"), "c-8": withContent("8-1-z") })],
  ]);
  expect(wideMembers(sets).problems()).toEqual([
    { name: "bank/wild", reason: "NumberMissing" },
    { name: "shop/a-7", reason: "DuplicateNumber" },
    { name: "shop/b-7", reason: "DuplicateId" },
  ]);
  expect(wideMembers(sets).state().ids).toEqual(["7-1-x", "7-1-x", "7-2-y", "8-1-z"]);
});

test("two namespaces with the same Secret by name are two Secrets in the digest of contents", () => {
  const one = wideMembers(
    new Map([
      ["a", setOf({ "x-1": withContent("1-1") })],
      ["b", setOf({})],
    ]),
  );
  const other = wideMembers(
    new Map([
      ["a", setOf({})],
      ["b", setOf({ "x-1": withContent("1-1") })],
    ]),
  );
  expect(one.state().checksum).toBe(other.state().checksum);
  expect(one.state().sha256).not.toBe(other.state().sha256);
});

const labels: Readonly<Record<string, string>> = { bank: "east", shop: "east", club: "west" };

test.each([
  ["each namespace by itself", { type: "namespace" }, ["bank: bank", "club: club", "lone: lone", "shop: shop"]],
  ["all together", { type: "all", publishIn: "gateways" }, ["gateways: bank club lone shop"]],
  ["by a label; those without it by themselves", { type: "label", key: "fleet" }, ["bank: bank shop", "club: club", "lone: lone"]],
] as const)("%s", (_, rule, expected) => {
  const scopes = scopesOf(["shop", "lone", "club", "bank"], rule, (name) => labels[name]);
  expect(scopes.map(({ home, namespaces }) => `${home}: ${namespaces.join(" ")}`)).toEqual(expected);
});
