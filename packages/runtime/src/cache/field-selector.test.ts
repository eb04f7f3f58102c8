// Which objects a field selector selects.
import { expect, test } from "vitest";
import { fieldAt, parseFieldSelector } from "./field-selector.ts";

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
