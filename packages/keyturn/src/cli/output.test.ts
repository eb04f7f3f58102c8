import { expect, it } from "vitest";
import { LiveText } from "./output.ts";

function drawing(height: number | undefined): { readonly written: string[]; readonly text: LiveText } {
  const written: string[] = [];
  return { written, text: new LiveText({ write: (text) => written.push(text), height: () => height }) };
}

it("draws over itself on a terminal", () => {
  const { written, text } = drawing(24);
  text.show("one\ntwo", "");
  text.show("three", "");
  expect(written).toEqual(["one\ntwo\n", "\u001b[2A\u001b[Jthree\n"]);
});

it("draws no more than fits, so that nothing is left behind that cannot be drawn over", () => {
  const { written, text } = drawing(4);
  text.show("1\n2\n3\n4\n5", "");
  expect(written).toEqual(["1\n2\n… 3 more lines\n"]);
});

it("writes to a file only when something has changed", () => {
  const { written, text } = drawing(undefined);
  text.show("a 1s", "a");
  text.show("a 2s", "a");
  text.show("b 3s", "b");
  expect(written).toEqual(["a 1s\n\n", "b 3s\n\n"]);
});
