// Paths as users write them in annotations.
import { expect, test } from "vitest";
import { formatPath, objectWith, parsePath, valueAt } from "./content.ts";

const pathOf = (text: string | undefined): readonly string[] | undefined => {
  const parsed = parsePath(text);
  return parsed.ok ? parsed.path : undefined;
};

test.each([
  [undefined, []],
  ["", []],
  [".", []],
  [".data", ["data"]],
  [".data.someKey", ["data", "someKey"]],
  [".data['tls.crt']", ["data", "tls.crt"]],
  [`.data["tls.crt"]`, ["data", "tls.crt"]],
  [String.raw`.data['it\'s']`, ["data", "it's"]],
  ["['data'].key", ["data", "key"]],
  [" .data.key-1_2 ", ["data", "key-1_2"]],
])("%s is read", (text, path) => {
  expect(pathOf(text)).toEqual(path);
});

test.each(["data", ".data.", ".data[0]", ".data[tls.crt]", ".data['x", ".data..x", "$.data", ".da ta"])(
  "%s is refused, and the message says where",
  (text) => {
    const parsed = parsePath(text);
    expect(parsed).toMatchObject({ ok: false, message: expect.stringMatching(/is no path from character \d+ on/) });
  },
);

test("a path is written as it is read", () => {
  for (const text of [".", ".data", ".data.someKey", ".data['tls.crt']"]) expect(formatPath(pathOf(text) ?? [])).toBe(text);
});

test("only an object's own members are found", () => {
  expect(valueAt({ data: { a: "1" } }, ["data", "a"])).toBe("1");
  expect(valueAt({ data: {} }, ["data", "toString"])).toBeUndefined();
  expect(valueAt({ data: {} }, ["__proto__"])).toBeUndefined();
  expect(valueAt({ data: ["x"] }, ["data", "0"])).toBeUndefined();
});

test("what is put at a path is found there, and nothing else is", () => {
  expect(objectWith(["data", "tls.crt"], "x")).toEqual({ data: { "tls.crt": "x" } });
  expect(valueAt(objectWith(["__proto__", "x"], 1), ["__proto__", "x"])).toBe(1);
  expect(JSON.stringify(objectWith(["a", "__proto__"], 1))).toBe('{"a":{"__proto__":1}}');
});
