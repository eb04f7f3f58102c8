// How an answer is printed: as a table or as data, once or followed.
import { stringify } from "yaml";
import type { Report } from "../feature/feature.ts";
import { choiceFlag, switchFlag } from "../feature/flag.ts";
import { visibleText } from "../text.ts";
import type { Console } from "./command-line.ts";

/** How to print. */
export type OutputFormat = "table" | "json" | "yaml";

/** For every command that answers a question. */
export const outputFlag = choiceFlag({
  name: "output",
  short: "o",
  choices: ["table", "json", "yaml"],
  default: "table",
  help: "how to print the answer",
});

/** For commands whose answer can be followed. */
export const watchFlag = switchFlag({
  name: "watch",
  short: "w",
  default: false,
  help: "go on, and show every change: in place on a terminal, one after the other elsewhere; with -o json or yaml one document for each",
});

/** For commands that can look everywhere at once. */
export const allNamespacesFlag = switchFlag({ name: "all-namespaces", short: "A", default: false, help: "look in every namespace" });

/** A whole answer, without a line break at the end. */
export function printed({ text, data }: Report, output: OutputFormat): string {
  if (output === "table") return text;
  return output === "json" ? JSON.stringify(data, undefined, 2) : stringify(data).trimEnd();
}

/** One of several documents in a stream: a line of JSON, or a document of YAML. */
export function streamed(data: unknown, output: Exclude<OutputFormat, "table">): string {
  return output === "json" ? `${JSON.stringify(data)}\n` : `---\n${stringify(data)}`;
}

// A text on the screen that follows what it shows: redrawn in place on a terminal, printed anew when it changes elsewhere.

/** A terminal to draw on. */
interface Screen {
  readonly write: (text: string) => void;
  /** How many lines fit; undefined if it is no terminal. */
  readonly height: () => number | undefined;
}

/** Draws texts one over the other on a terminal; elsewhere writes a text only when what it is about has changed. */
export class LiveText {
  readonly #screen: Screen;
  #linesDrawn = 0;
  #lastContent = "";

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** On what a command writes to. */
  static on({ draw, out, height }: Console): LiveText {
    return new LiveText({ write: draw ?? out, height });
  }

  /** `content` is the text without what changes all the time, such as ages. */
  show(text: string, content: string): void {
    const height = this.#screen.height();
    if (height !== undefined) {
      const lines = visibleText(text).split("\n");
      // What has scrolled away cannot be drawn over.
      const visible = lines.length < height ? lines : [...lines.slice(0, height - 2), `… ${lines.length - height + 2} more lines`];
      // Up to where the last drawing began, and erase from there on.
      const back = this.#linesDrawn > 0 ? `\u001b[${this.#linesDrawn}A\u001b[J` : "";
      this.#screen.write(`${back}${visible.join("\n")}\n`);
      this.#linesDrawn = visible.length;
      return;
    }
    if (content === this.#lastContent) return;
    this.#lastContent = content;
    this.#screen.write(`${visibleText(text)}\n\n`);
  }
}
