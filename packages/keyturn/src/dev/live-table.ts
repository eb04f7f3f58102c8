// A table on the screen that follows what it shows: redrawn in place on a terminal, printed anew when it changes elsewhere.
import { renderAge, renderTable } from "../cli/table.ts";
import type { InventoryRow } from "./inventory.ts";

/** The table as text. */
export function renderInventory(rows: readonly InventoryRow[], nowMs: number): string {
  if (rows.length === 0) return "nothing is managed yet";
  const cells = rows.map((row) => [row.kind, row.namespace, row.name, row.ready, row.detail, renderAge(row.createdMs, nowMs)]);
  return renderTable(["kind", "namespace", "name", "ready", "detail", "age"], cells);
}

/** Draws texts one over the other on a terminal; elsewhere writes a text only when more than ages in it has changed. */
export class LiveTable {
  readonly #write: (text: string) => void;
  readonly #isTerminal: boolean;
  #linesDrawn = 0;
  #lastContent = "";

  constructor(write: (text: string) => void, isTerminal: boolean) {
    this.#write = write;
    this.#isTerminal = isTerminal;
  }

  show(rows: readonly InventoryRow[], nowMs: number): void {
    const text = renderInventory(rows, nowMs);
    if (this.#isTerminal) {
      // Up to where the last drawing began, and erase from there on.
      const back = this.#linesDrawn > 0 ? `\u001b[${this.#linesDrawn}A\u001b[J` : "";
      this.#write(`${back}${text}\n`);
      this.#linesDrawn = text.split("\n").length;
      return;
    }
    const content = JSON.stringify(rows);
    if (content === this.#lastContent) return;
    this.#lastContent = content;
    this.#write(`${text}\n\n`);
  }
}
