import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyJsonPatch, JsonPatchError, type JsonPatchStep } from "./json-patch.ts";

/** The cases of RFC 6902, appendix A, by number; `undefined` for those that must fail. */
const examples: readonly (readonly [string, unknown, readonly JsonPatchStep[], unknown])[] = [
  ["A.1 adding an object member", { foo: "bar" }, [{ op: "add", path: "/baz", value: "qux" }], { baz: "qux", foo: "bar" }],
  ["A.2 adding an array element", { foo: ["bar", "baz"] }, [{ op: "add", path: "/foo/1", value: "qux" }], { foo: ["bar", "qux", "baz"] }],
  ["A.3 removing an object member", { baz: "qux", foo: "bar" }, [{ op: "remove", path: "/baz" }], { foo: "bar" }],
  ["A.4 removing an array element", { foo: ["bar", "qux", "baz"] }, [{ op: "remove", path: "/foo/1" }], { foo: ["bar", "baz"] }],
  ["A.5 replacing a value", { baz: "qux", foo: "bar" }, [{ op: "replace", path: "/baz", value: "boo" }], { baz: "boo", foo: "bar" }],
  [
    "A.6 moving a value",
    { foo: { bar: "baz", waldo: "fred" }, qux: { corge: "grault" } },
    [{ op: "move", from: "/foo/waldo", path: "/qux/thud" }],
    { foo: { bar: "baz" }, qux: { corge: "grault", thud: "fred" } },
  ],
  [
    "A.7 moving an array element",
    { foo: ["all", "grass", "cows", "eat"] },
    [{ op: "move", from: "/foo/1", path: "/foo/3" }],
    { foo: ["all", "cows", "eat", "grass"] },
  ],
  [
    "A.8 testing a value: success",
    { baz: "qux", foo: ["a", 2, "c"] },
    [
      { op: "test", path: "/baz", value: "qux" },
      { op: "test", path: "/foo/1", value: 2 },
    ],
    { baz: "qux", foo: ["a", 2, "c"] },
  ],
  ["A.9 testing a value: error", { baz: "qux" }, [{ op: "test", path: "/baz", value: "bar" }], undefined],
  [
    "A.10 adding a nested member object",
    { foo: "bar" },
    [{ op: "add", path: "/child", value: { grandchild: {} } }],
    { foo: "bar", child: { grandchild: {} } },
  ],
  ["A.12 adding to a target that is not there", { foo: "bar" }, [{ op: "add", path: "/baz/bat", value: "qux" }], undefined],
  ["A.14 ~ escape ordering", { "/": 9, "~1": 10 }, [{ op: "test", path: "/~01", value: 10 }], { "/": 9, "~1": 10 }],
  ["A.15 comparing strings and numbers", { "/": 9, "~1": 10 }, [{ op: "test", path: "/~01", value: "10" }], undefined],
  ["A.16 adding an array value", { foo: ["bar"] }, [{ op: "add", path: "/foo/-", value: ["abc", "def"] }], { foo: ["bar", ["abc", "def"]] }],
];

describe("the examples of RFC 6902", () => {
  test.each(examples)("%s", (_name, document, patch, result) => {
    const before = structuredClone(document);
    if (result === undefined) expect(() => applyJsonPatch(document, patch)).toThrow(JsonPatchError);
    else expect(applyJsonPatch(document, patch)).toEqual(result);
    expect(document).toEqual(before);
  });
});

describe("what the RFC says in words", () => {
  test.each<readonly [string, unknown, JsonPatchStep, unknown]>([
    ["the empty path is the whole document", { a: 1 }, { op: "replace", path: "", value: [2] }, [2]],
    ["add replaces a member that is there", { a: 1, b: 2 }, { op: "add", path: "/a", value: 3 }, { a: 3, b: 2 }],
    ["the empty name is a name", { "": 1 }, { op: "remove", path: "/" }, {}],
    ["copy leaves the original", { a: [1] }, { op: "copy", from: "/a", path: "/b" }, { a: [1], b: [1] }],
    ["a value may be null", { a: 1 }, { op: "replace", path: "/a", value: null }, { a: null }],
    [
      "the order of members does not matter to a test",
      { a: { b: 1, c: 2 } },
      { op: "test", path: "/a", value: { c: 2, b: 1 } },
      { a: { b: 1, c: 2 } },
    ],
    ["moving to itself changes nothing", { a: 1 }, { op: "move", from: "/a", path: "/a" }, { a: 1 }],
  ])("%s", (_name, document, operation, result) => expect(applyJsonPatch(document, [operation])).toEqual(result));

  test.each<readonly [string, unknown, JsonPatchStep]>([
    ["a path without a slash", {}, { op: "add", path: "a", value: 1 }],
    ["a tilde that escapes nothing", {}, { op: "add", path: "/~2", value: 1 }],
    ["an index beyond the end", { a: [1] }, { op: "add", path: "/a/2", value: 1 }],
    ["an index with a leading zero", { a: [1, 2] }, { op: "remove", path: "/a/01" }],
    ["a negative index", { a: [1] }, { op: "remove", path: "/a/-1" }],
    ["replacing at the end of a list", { a: [1] }, { op: "replace", path: "/a/-", value: 1 }],
    ["replacing what is not there", {}, { op: "replace", path: "/a", value: 1 }],
    ["removing what is not there", {}, { op: "remove", path: "/a" }],
    ["removing the document", {}, { op: "remove", path: "" }],
    ["a step into a string", { a: "b" }, { op: "add", path: "/a/b", value: 1 }],
    ["moving something into itself", { a: { b: 1 } }, { op: "move", from: "/a", path: "/a/c" }],
    ["what every object inherits", {}, { op: "copy", from: "/constructor", path: "/a" }],
  ])("fails: %s", (_name, document, operation) => expect(() => applyJsonPatch(document, [operation])).toThrow(JsonPatchError));

  test("an error names the operation", () => {
    const patch: readonly JsonPatchStep[] = [
      { op: "add", path: "/a", value: 1 },
      { op: "remove", path: "/b" },
    ];
    expect(() => applyJsonPatch({}, patch)).toThrow('operation 1 of the patch, remove /b: there is no "b"');
  });
});

test("no path reaches what objects inherit", () => {
  const patched = applyJsonPatch({ a: {} }, [
    { op: "add", path: "/a/__proto__", value: { polluted: true } },
    { op: "add", path: "/a/__proto__/polluted", value: "again" },
  ]);
  expect(JSON.stringify(patched)).toBe('{"a":{"__proto__":{"polluted":"again"}}}');
  expect(Object.getPrototypeOf((patched as { a: object }).a)).toBe(Object.prototype);
  expect("polluted" in {}).toBe(false);
  expect(() => applyJsonPatch({}, [{ op: "add", path: "/__proto__/polluted", value: true }])).toThrow(JsonPatchError);
});

test("what is added can be found, and removing it gives back the document", () => {
  const documents = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(documents, fc.string(), fc.jsonValue(), (document, key, value) => {
      fc.pre(!Object.hasOwn(document, key));
      const path = `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      const added = applyJsonPatch(document, [
        { op: "add", path, value },
        { op: "test", path, value },
      ]);
      expect(applyJsonPatch(added, [{ op: "remove", path }])).toEqual(document);
    }),
  );
});

describe("where what is absent counts as null, as in the API server", () => {
  const rules = { absentIsNull: true };

  test("a member that is not there is null to `test`, and added by `replace`", () => {
    expect(applyJsonPatch({ a: {} }, [{ op: "test", path: "/a/b", value: null }], rules)).toEqual({ a: {} });
    expect(applyJsonPatch({ a: {} }, [{ op: "replace", path: "/a/b", value: 1 }], rules)).toEqual({ a: { b: 1 } });
    expect(applyJsonPatch({ a: [1] }, [{ op: "replace", path: "/a/0", value: 2 }], rules)).toEqual({ a: [2] });
  });

  test.each<JsonPatchStep>([
    { op: "remove", path: "/b" },
    { op: "replace", path: "/b/c", value: 1 },
    { op: "replace", path: "/a/1", value: 1 },
    { op: "test", path: "/b", value: 1 },
  ])("what else is not there still fails: %j", (operation) => expect(() => applyJsonPatch({ a: [1] }, [operation], rules)).toThrow(JsonPatchError));
});

test("a patch that doubles its document again and again, or has no end of operations, is refused before it costs anything", () => {
  const doubling: readonly JsonPatchStep[] = Array.from({ length: 60 }, (_, index) => ({ op: "copy", from: "", path: `/copy${index}` }));
  expect(() => applyJsonPatch({ pod: "x".repeat(1000) }, doubling)).toThrow(/copies more than 3145728 bytes/);
  const many: readonly JsonPatchStep[] = Array.from({ length: 1001 }, () => ({ op: "add", path: "/list/-", value: 1 }));
  expect(() => applyJsonPatch({ list: [] }, many)).toThrow(/1001 operations; 1000 are the most/);
  expect(applyJsonPatch({ list: [] }, many.slice(1))).toEqual({ list: Array.from({ length: 1000 }, () => 1) });
});
