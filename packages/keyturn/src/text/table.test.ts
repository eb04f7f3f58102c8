import { expect, it } from "vitest";
import { coloured } from "./paint.ts";
import { renderAge, renderRows, renderTable } from "./table.ts";

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
  ).toBe("\u001b[31ma\u001b[0m      b\nlong   c");
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
