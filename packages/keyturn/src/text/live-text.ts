// A text on the screen that follows what it shows: redrawn in place on a terminal, printed anew when it changes elsewhere.

/** A terminal to draw on. */
export interface Screen {
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

  /** `content` is the text without what changes all the time, such as ages. */
  show(text: string, content: string): void {
    const height = this.#screen.height();
    if (height !== undefined) {
      const lines = text.split("\n");
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
    this.#screen.write(`${text}\n\n`);
  }
}
