import { expect, it } from "vitest";
import { coloured, paintFor, plain, renderAge, renderRows, renderTable, visibleLength, visibleText } from "./text.ts";

it.each([
  [{}, true, coloured],
  [{}, false, plain],
  [{ NO_COLOR: "1" }, true, plain],
  [{ NO_COLOR: "" }, true, coloured],
  [{ TERM: "dumb" }, true, plain],
  [{ TERM: "xterm" }, true, coloured],
  [{ FORCE_COLOR: "1" }, false, coloured],
  [{ FORCE_COLOR: "1", NO_COLOR: "1", TERM: "dumb" }, false, coloured],
  [{ FORCE_COLOR: "0" }, true, plain],
])("with %o on a terminal (%s) it chooses rightly", (environment, isTerminal, paint) => {
  expect(paintFor(environment, isTerminal)).toBe(paint);
});

it("adds nothing that is seen", () => {
  expect(visibleText(coloured("bad", "no"))).toBe("\u001b[31mno\u001b[0m");
  expect(visibleLength(coloured("bad", "no"))).toBe(2);
  expect(visibleLength("no")).toBe(2);
  expect(plain("bad", "no")).toBe("no");
});

it("lines up columns and leaves no space at the end of a line", () => {
  expect(
    renderTable(
      ["name", "ready"],
      [
        ["a", "True"],
        ["longer-name", ""],
      ],
    ),
  ).toMatchInlineSnapshot(`
    "NAME          READY
    a             True
    longer-name"
  `);
});

it("lines up cells with colours by what is seen of them", () => {
  expect(
    renderRows([
      [coloured("bad", "a"), "b"],
      ["long", "c"],
    ]),
  ).toBe(`${coloured("bad", "a")}      b\nlong   c`);
});

it.each([
  [0, "0s"],
  [119_999, "119s"],
  [120_000, "2m"],
  [7_199_999, "119m"],
  [7_200_000, "2h"],
  [172_800_000, "2d"],
  [-5000, "0s"],
])("writes an age of %d ms as %s", (ageMs, text) => {
  expect(renderAge(1000, 1000 + ageMs)).toBe(text);
});

it("shows what a terminal would obey, but for our own colours and ends of lines", () => {
  const title = "\u001b]0;owned\u0007";
  expect(visibleText(`${title}a\u001b[2Jb\u009bc\r\u202ed`)).toBe(String.raw`\u001b]0;owned\u0007a\u001b[2Jb\u009bc\u000d\u202ed`);
  expect(visibleText(`${coloured("bad", "no")}\n\tyes`)).toBe("\u001b[31mno\u001b[0m\n\tyes");
  // As data it still means the same.
  expect(JSON.parse(visibleText(JSON.stringify({ title, odd: "\u009b\u202e" })))).toEqual({ title, odd: "\u009b\u202e" });
});

it("takes no colour in a text of others for one of ours", () => {
  const forged = "\u001b[32m1 healthy\u001b[0m";
  expect(visibleText(forged)).toBe(String.raw`\u001b[32m1 healthy\u001b[0m`);
  expect(visibleText(coloured("bad", forged))).toBe(`\u001b[31m${String.raw`\u001b[32m1 healthy\u001b[0m`}\u001b[0m`);
  expect(visibleText("\u200fdesrever\u061c")).toBe(String.raw`\u200fdesrever\u061c`);
});

it("keeps a row in its line, whatever is in its cells", () => {
  expect(renderRows([["a", "x\n  b   True"]])).toBe("a   x b   True");
});
