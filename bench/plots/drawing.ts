// A whole drawing: its ground, its title, and a text for those who do not see it.
import { styleSheet } from "./palette.ts";
import { element, escaped, label } from "./svg.ts";

/** What frames a drawing. */
export interface DrawingFrame {
  readonly width: number;
  readonly height: number;
  readonly title: string;
  /** The figures in words, for screen readers. */
  readonly description: string;
}

/** Pixels above the first panel. */
export const titleHeight = 40;

/** Room for the longest of some names at the left; the width of letters is the reader's font's, so this is with some to spare. */
export function widthOf(names: readonly string[]): number {
  return Math.ceil(24 + Math.max(0, ...names.map((name) => name.length)) * 7.1);
}

/** The drawing as a file's content. */
export function drawing({ width, height, title, description }: DrawingFrame, ...parts: readonly string[]): string {
  const attributes = { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, role: "img" };
  const content = [
    element("title", {}, escaped(title)),
    element("desc", {}, escaped(description)),
    element("style", {}, styleSheet()),
    element("rect", { class: "ground", width, height, rx: 6 }),
    label(title, 16, 25, { "font-weight": "600", "font-size": "14" }),
    ...parts,
  ];
  return `${element("svg", attributes, ...content.map((part) => `\n${part}`), "\n")}\n`;
}
