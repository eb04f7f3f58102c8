import { expect, it } from "vitest";
import { coloured, paintFor, plain, visibleLength } from "./paint.ts";

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
  expect(coloured("bad", "no")).toBe("\u001b[31mno\u001b[0m");
  expect(visibleLength(coloured("bad", "no"))).toBe(2);
  expect(visibleLength("no")).toBe(2);
  expect(plain("bad", "no")).toBe("no");
});
