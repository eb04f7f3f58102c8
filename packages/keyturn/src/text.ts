// Colours, for terminals only.
import { randomBytes } from "node:crypto";

/** What a piece of text is about; each has a colour of its own. */
export type Tone = "good" | "busy" | "doubtful" | "bad" | "faint" | "strong";

/** Gives a text its colour, or leaves it as it is. */
export type Paint = (tone: Tone, text: string) => string;

/** Select Graphic Rendition, as every terminal has it. */
const codes: Readonly<Record<Tone, number>> = { good: 32, busy: 36, doubtful: 33, bad: 31, faint: 2, strong: 1 };

/** For files, pipes, and those who want none. */
export const plain: Paint = (_tone, text) => text;

/** What our own colours begin with until they are printed, so that no colour in a text of others is taken for one of ours: nobody can know it. */
const mark = randomBytes(8).toString("hex");

/** For terminals, by way of `visibleText`. */
export const coloured: Paint = (tone, text) => (text === "" ? "" : `${mark}[${codes[tone]}m${text}${mark}[0m`);

/**
 * Colours only where somebody sees them: on a terminal that is not `TERM=dumb`, unless `NO_COLOR` is set (https://no-color.org).
 * `FORCE_COLOR` decides over everything: `0` or `false` for none, anything else for colours.
 */
export function paintFor(environment: Readonly<Record<string, string | undefined>>, isTerminal: boolean): Paint {
  const { FORCE_COLOR: forced, NO_COLOR: refused, TERM: terminal } = environment;
  if (forced) return forced === "0" || forced === "false" ? plain : coloured;
  return isTerminal && !refused && terminal !== "dumb" ? coloured : plain;
}

/** How many characters of a text are seen. */
export function visibleLength(text: string): number {
  return withColours(text, () => "").length;
}

/** The text with something else for each of our own colours, which is given as `[32m`. */
function withColours(text: string, write: (colour: string) => string): string {
  const [first = "", ...rest] = text.split(mark);
  const parts = rest.map((part) => {
    const end = part.indexOf("m") + 1;
    return write(part.slice(0, end)) + part.slice(end);
  });
  return first + parts.join("");
}

// What others wrote, on a terminal.

/** What a terminal obeys instead of showing it, other than ends of lines: control characters, and those that turn the direction of a text. */
// oxlint-disable-next-line no-control-regex -- they are what it is about
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The text as it is printed: with our own colours, and all of those written as `\u001b`, as JSON writes them. */
export function visibleText(text: string): string {
  const shown = text.replaceAll(obeyed, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return withColours(shown, (colour) => `\u001b${colour}`);
}

// Plain-text tables, as kubectl prints them.

/** Lines up columns; the header in capitals. Wide characters are not accounted for: names in Kubernetes are ASCII. */
export function renderTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  return renderRows([columns.map((column) => column.toUpperCase()), ...rows]);
}

/** Not by one expression with white space on both sides of a line's end: that takes quadratic time. */
function inOneLine(cell: string): string {
  if (!cell.includes("\n")) return cell;
  return cell
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
}

/** Lines up rows as they are, each in a line of its own. */
export function renderRows(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map(inOneLine));
  const widths = (rows[0] ?? []).map((_, index) => rows.reduce((widest, row) => Math.max(widest, visibleLength(row[index] ?? "")), 0));
  return rows
    .map((row) =>
      row
        .map((cell, index) => `${cell}${" ".repeat(Math.max(0, (widths[index] ?? 0) - visibleLength(cell)))}`)
        .join("   ")
        .trimEnd(),
    )
    .join("\n");
}

/** How long ago, as kubectl writes ages: `45s`, `3m`, `5h`, `12d`. */
export function renderAge(sinceMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - sinceMs) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
