// How an answer is printed: as a table or as data, once or followed.
import { Writable } from "node:stream";
import { createLogUpdate } from "log-update";
import sliceAnsi from "slice-ansi";
import stringWidth from "string-width";
import { stringify } from "yaml";
import type { Report } from "../feature/feature.ts";
import { choiceFlag, switchFlag } from "../feature/flag.ts";
import { visibleText } from "../text.ts";
import type { Console } from "./command-line.ts";

/** How to print. */
export type OutputFormat = "table" | "wide" | "json" | "yaml";

/** For every command that answers a question. */
export const outputFlag = choiceFlag({
  name: "output",
  short: "o",
  group: "Output",
  choices: ["table", "wide", "json", "yaml"],
  default: "table",
  help: "the output format; wide has all columns and cuts nothing off",
});

/** For commands whose answer can be followed. */
export const watchFlag = switchFlag({
  name: "watch",
  short: "w",
  group: "Output",
  default: false,
  help: "keep running and show every change: redrawn on a terminal, one per line elsewhere, one document each with -o json or yaml",
});

/** For commands that can look everywhere at once. */
export const allNamespacesFlag = switchFlag({
  name: "all-namespaces",
  short: "A",
  group: "Connection",
  default: false,
  help: "look in every namespace",
});

/** True if programs read what is printed. */
export function isData(output: OutputFormat): output is "json" | "yaml" {
  return output === "json" || output === "yaml";
}

/** A whole answer, without a line break at the end. */
export function printed({ text, wide = text, data }: Report, output: OutputFormat): string {
  if (output === "table") return text;
  if (output === "wide") return wide;
  return output === "json" ? JSON.stringify(data, undefined, 2) : stringify(data).trimEnd();
}

/** One of several documents in a stream: a line of JSON, or a document of YAML. */
export function streamed(data: unknown, output: "json" | "yaml"): string {
  return output === "json" ? `${JSON.stringify(data)}\n` : `---\n${stringify(data)}`;
}

// A text on the screen that follows what it shows: redrawn in place on a terminal, printed anew when it changes elsewhere.

/** A terminal to draw on. */
type Screen = Pick<Console, "height" | "width"> & { readonly write: (text: string) => void };

/** Draws texts one over the other on a terminal; elsewhere writes a text only when what it is about has changed. */
export class LiveText {
  readonly #screen: Screen;
  readonly #stream: Writable & { columns: number; rows: number };
  readonly #draw: ReturnType<typeof createLogUpdate>;
  #isDrawn = false;
  #lastContent = "";

  constructor(screen: Screen) {
    this.#screen = screen;
    const write = (chunk: unknown, _encoding: string, done: () => void): void => {
      screen.write(String(chunk));
      done();
    };
    this.#stream = Object.assign(new Writable({ write, decodeStrings: false }), { columns: 0, rows: 0 });
    // A cursor that is hidden would have to be shown again, however the process ends.
    this.#draw = createLogUpdate(this.#stream, { showCursor: true });
  }

  /** On what a command writes to. */
  static on({ draw, out, height, width }: Console): LiveText {
    return new LiveText({ write: draw ?? out, height, ...(width && { width }) });
  }

  /** `content` is the text without what changes all the time, such as ages. */
  show(text: string, content: string): void {
    const rows = this.#screen.height();
    if (rows === undefined) {
      if (content === this.#lastContent) return;
      this.#lastContent = content;
      return this.#screen.write(`${visibleText(text)}\n\n`);
    }
    const columns = this.#screen.width?.() ?? maxColumns;
    if (this.#isDrawn && (columns !== this.#stream.columns || rows !== this.#stream.rows)) {
      // The terminal has wrapped anew what was drawn: nobody knows how many lines that is now.
      this.#draw.done();
      this.#screen.write("\u001b[H\u001b[J");
    }
    Object.assign(this.#stream, { columns, rows });
    this.#isDrawn = true;
    this.#draw(onScreen(visibleText(text), { columns, rows }));
  }
}

/** Where the width is not known. */
const maxColumns = 10_000;

/** As much as fits: lines that are wrapped, or scroll away, could not be drawn over. */
function onScreen(text: string, { columns, rows }: { readonly columns: number; readonly rows: number }): string {
  const lines = text.split("\n");
  const shown = lines.length < rows ? lines : [...lines.slice(0, rows - 2), `… ${lines.length - rows + 2} more lines`];
  return shown.map((line) => cutTo(columns, line)).join("\n");
}

/** The line, with an ellipsis if it is longer than that. */
function cutTo(columns: number, line: string): string {
  return stringWidth(line) <= columns ? line : `${sliceAnsi(line, 0, columns - 1)}…`;
}
