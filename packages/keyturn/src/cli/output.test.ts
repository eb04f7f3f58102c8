import { describe, expect, it } from "vitest";
import { Terminal } from "../../test/terminal.ts";
import { coloured } from "../text.ts";
import { LiveText } from "./output.ts";

/** A text that is drawn on a terminal, whose size can change. */
function drawingOn(terminal: Terminal): LiveText {
  return new LiveText({ write: terminal.write, height: () => terminal.rows, width: () => terminal.columns });
}

describe("on a terminal, a text that is followed", () => {
  it("is drawn over itself", async () => {
    const terminal = new Terminal(40, 10);
    terminal.write("$ keyturn status --watch\n");
    const text = drawingOn(terminal);
    text.show("one\ntwo\nthree", "");
    text.show("one\n2", "");
    text.show("one\n2\n3\n4", "");
    expect(await terminal.lines()).toEqual({ gone: [], shown: ["$ keyturn status --watch", "one", "2", "3", "4"] });
  });

  it.each([
    [80, 24],
    [150, 50],
    [40, 12],
  ])("leaves nothing behind at %ix%i, however long its lines and however many", async (columns, rows) => {
    const terminal = new Terminal(columns, rows);
    const text = drawingOn(terminal);
    for (let round = 0; round < 30; round++) {
      const lines = Array.from({ length: 20 + round * 3 }, (_, line) => `round ${round} line ${line} ${"日本 and more ".repeat(20)}`);
      text.show(["https://127.0.0.1/", ...lines].join("\n"), "");
    }
    const { gone, shown } = await terminal.lines();
    expect(gone).toEqual([]);
    expect(shown[0]).toBe("https://127.0.0.1/");
    expect(shown[1]).toMatch(/^round 29 line 0 .*…$/);
    expect(shown.at(-1)).toMatch(/^… \d+ more lines$/);
    expect(shown.filter((line) => line.startsWith("https"))).toHaveLength(1);
  });

  it("begins at the top of the screen when the terminal gets another size", async () => {
    const terminal = new Terminal(100, 20);
    const text = drawingOn(terminal);
    const lines = ["the address", ...Array.from({ length: 12 }, (_, line) => `line ${line} ${"x".repeat(80)}`)].join("\n");
    text.show(lines, "");
    terminal.resize(50, 20);
    text.show(lines, "");
    const { shown } = await terminal.lines();
    expect(shown[0]).toBe("the address");
    expect(shown).toHaveLength(13);
    expect(shown.every((line) => line.length <= 50)).toBe(true);
  });

  it("keeps its colours where it is cut, and shows those of others as text", () => {
    let written = "";
    const text = new LiveText({ write: (piece) => void (written += piece), height: () => 24, width: () => 12 });
    text.show(`${coloured("good", "a long green text")}\n\u001b[32mnot ours`, "");
    expect(written).toBe("\u001b[32ma long gree\u001b[39m…\n\\u001b[32mn…\n");
  });
});

it("a file gets a text only when something has changed, whole", () => {
  const written: string[] = [];
  const text = new LiveText({ write: (piece) => written.push(piece), height: () => undefined });
  text.show("a 1s", "a");
  text.show("a 2s", "a");
  text.show(`b ${"long ".repeat(100)}`, "b");
  expect(written).toEqual(["a 1s\n\n", `b ${"long ".repeat(100)}\n\n`]);
});
