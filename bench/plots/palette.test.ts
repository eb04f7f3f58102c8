// Every colour can be told from the ground it is drawn on, in both sets.
import { describe, expect, test } from "vitest";
import { dark, light, type Palette, styleSheet } from "./palette.ts";

/** WCAG's relative luminance. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const share = Number.parseInt(colour.slice(start, start + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [brighter = 0, darker = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (brighter + 0.05) / (darker + 0.05);
}

const sets: readonly (readonly [string, Palette])[] = [
  ["light", light],
  ["dark", dark],
];

describe.each(sets)("%s", (_, palette) => {
  test("text reads", () => {
    for (const colour of [palette.ink, palette.quiet, palette.good, palette.bad])
      expect(contrast(colour, palette.ground)).toBeGreaterThanOrEqual(4.5);
  });

  test("marks stand out", () => {
    for (const colour of [palette.ours, palette.other, palette.curve]) expect(contrast(colour, palette.ground)).toBeGreaterThanOrEqual(3);
  });
});

test("the style sheet has both sets", () => {
  expect(styleSheet()).toContain(`--ours:${light.ours}`);
  expect(styleSheet()).toContain(`@media(prefers-color-scheme:dark){svg{--ground:${dark.ground}`);
});
