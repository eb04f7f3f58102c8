// Label selectors as the API server understands them.
import { describe, expect, it, test } from "vitest";
import { areSelectorsDisjoint, fieldAt, parseFieldSelector, parseLabelSelector, selectsLabels } from "./selectors.ts";

const labels = { app: "web", tier: "front", empty: "", "example.com/part": "x" };

describe("parseLabelSelector", () => {
  it.each([
    "",
    "app=web",
    "app==web",
    "app = web , tier=front",
    "app!=db",
    "other!=db",
    "app in (db, web)",
    "app in (web),tier notin (back)",
    "other notin (a)",
    "app",
    "!other",
    "empty=",
    "empty in ()",
    "example.com/part=x",
    "!toString",
  ])("selects %j", (selector) => expect(parseLabelSelector(selector)(labels)).toBe(true));

  it.each(["app=db", "app!=web", "app=web,tier=back", "app in (db,cache)", "other in (a)", "app notin (web,db)", "!app", "other", "other="])(
    "does not select %j",
    (selector) => expect(parseLabelSelector(selector)(labels)).toBe(false),
  );

  it.each(["app > 3", "=web", "app=a b", "app in (a", "a@b"])("says that it does not understand %j", (selector) =>
    expect(() => parseLabelSelector(selector)).toThrow(`${JSON.stringify(selector)} is not understood`),
  );
});

describe("areSelectorsDisjoint", () => {
  it.each([
    ["app=web", "app=db"],
    ["app=web", "app!=web"],
    ["app in (web,db)", "tier=front,app notin (db,web,cache)"],
    ["app", "!app"],
    ["app=web", "!app"],
    ["app in (a,b)", "app in (c,d)"],
  ])("%j and %j, either way round", (one, other) => {
    expect([areSelectorsDisjoint(one, other), areSelectorsDisjoint(other, one)]).toEqual([true, true]);
  });

  it.each([
    ["", ""],
    ["", "app=web"],
    ["app=web", "app"],
    ["app=web", "tier=front"],
    ["app!=web", "app!=db"],
    ["app!=web", "!app"],
    ["app in (web,db)", "app notin (web)"],
    ["app in (web,db)", "app in (db,cache)"],
  ])("not %j and %j", (one, other) => {
    expect([areSelectorsDisjoint(one, other), areSelectorsDisjoint(other, one)]).toEqual([false, false]);
  });

  it("what is disjoint selects nothing together", () => {
    const terms = ["a", "!a", "a=1", "a!=1", "a in (1,2)", "a notin (1,2)", "a notin (1)", "a=2"];
    const every = [{}, { a: "1" }, { a: "2" }, { a: "3" }];
    for (const one of terms) {
      for (const other of terms) {
        const both = every.some((each) => parseLabelSelector(one)(each) && parseLabelSelector(other)(each));
        expect([one, other, areSelectorsDisjoint(one, other)]).toEqual([one, other, !both]);
      }
    }
  });
});

describe("selectsLabels", () => {
  it.each([
    [undefined, true],
    [{}, true],
    [{ matchLabels: { app: "web", tier: "front" } }, true],
    [{ matchLabels: { app: "db" } }, false],
    [{ matchLabels: { toString: "x" } }, false],
    [{ matchExpressions: [{ key: "app", operator: "In", values: ["db", "web"] }] }, true],
    [{ matchExpressions: [{ key: "other", operator: "NotIn", values: ["a"] }] }, true],
    [{ matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] }, false],
    [{ matchExpressions: [{ key: "empty", operator: "Exists" }] }, true],
    [{ matchLabels: { app: "web" }, matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, false],
  ] as const)("%j: %s", (selector, selected) => expect(selectsLabels(selector, labels)).toBe(selected));
});

// Which objects a field selector selects.

const secret = { metadata: { name: "a" }, type: "kubernetes.io/tls", spec: { host: "x,y=z\\", unschedulable: true, size: 3 } };
const selects = (selector: string): boolean => parseFieldSelector(selector)((path) => fieldAt(secret, path) ?? "");

test.each([
  ["", true],
  ["type=kubernetes.io/tls", true],
  ["type==kubernetes.io/tls", true],
  ["type!=kubernetes.io/tls", false],
  ["type=Opaque", false],
  ["type!=Opaque,metadata.name=a", true],
  ["type!=Opaque,metadata.name=b", false],
  ["status.phase=", true],
  ["status.phase!=Running", true],
  ["spec.unschedulable=true,spec.size=3", true],
  [String.raw`spec.host=x\,y\=z\\`, true],
  [String.raw`spec.host=x\,y`, false],
])("%s: %s", (selector, expected) => {
  expect(selects(selector)).toBe(expected);
});

test("what is not known is not selected, by any requirement", () => {
  for (const selector of ["type=x", "type!=x"]) expect(parseFieldSelector(selector)(() => undefined)).toBe(false);
});

test("an object has no fields but its own", () => {
  expect(fieldAt({}, "constructor.name")).toBeUndefined();
});
