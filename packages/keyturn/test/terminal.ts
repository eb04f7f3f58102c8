// A terminal to look at: what is written to it, as a person would see it.
import xterm from "@xterm/headless";

/** A terminal of a size. */
export class Terminal {
  readonly #terminal: InstanceType<typeof xterm.Terminal>;

  constructor(columns: number, rows: number) {
    // As a terminal does that is set up for programs: a line feed begins a line.
    this.#terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: true, scrollback: 10_000 });
  }

  get columns(): number {
    return this.#terminal.cols;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
  }

  readonly write = (text: string): void => this.#terminal.write(text);

  /** What has scrolled away, and what is on the screen, without empty lines at the end. */
  async lines(): Promise<{ readonly gone: readonly string[]; readonly shown: readonly string[] }> {
    // What was written before is shown by then.
    await new Promise<void>((resolve) => this.#terminal.write("", resolve));
    const { active } = this.#terminal.buffer;
    const all = Array.from({ length: active.length }, (_, index) => active.getLine(index)?.translateToString(true) ?? "");
    const shown = all.slice(active.baseY);
    return { gone: all.slice(0, active.baseY), shown: shown.slice(0, shown.findLastIndex((line) => line !== "") + 1) };
  }
}
