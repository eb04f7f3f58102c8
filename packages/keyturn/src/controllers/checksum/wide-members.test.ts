// Several namespaces as one set: what Tengine computes by default.
import { expect, test } from "vitest";
import { checksumOf, leftOut, type Member } from "./ids.ts";
import { MemberSet } from "./members.ts";
import { scopesOf } from "./scopes.ts";
import { wideMembers } from "./wide-members.ts";

const counted = (id: string): Member => ({ state: "counted", id, digest: `content of ${id}` });

function setOf(members: Readonly<Record<string, Member>>): MemberSet {
  const set = new MemberSet();
  for (const [name, member] of Object.entries(members)) set.set(name, member);
  return set;
}

test("ids are counted without their namespace, in one order", () => {
  const wide = wideMembers(
    new Map([
      ["shop", setOf({ "a-2": counted("2-1-x") })],
      ["bank", setOf({ "b-10": counted("10-1-y") })],
    ]),
  );
  expect(wide.state()).toMatchObject({ ids: ["10-1-y", "2-1-x"], checksum: checksumOf(["2-1-x", "10-1-y"]) });
  expect(wide.get("shop/a-2")).toEqual(counted("2-1-x"));
});

test("the same number in two namespaces is reported as not unique, and counts", () => {
  const sets = new Map([
    ["bank", setOf({ "a-7": counted("7-1-x"), wild: leftOut("NumberMissing") })],
    ["shop", setOf({ "a-7": counted("7-2-y"), "b-7": counted("7-1-x"), "c-8": counted("8-1-z") })],
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
      ["a", setOf({ "x-1": counted("1-1") })],
      ["b", setOf({})],
    ]),
  );
  const other = wideMembers(
    new Map([
      ["a", setOf({})],
      ["b", setOf({ "x-1": counted("1-1") })],
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
