// The colours of the plots, in a light and a dark set. Each drawing brings its own ground, so that it reads on any page; which set is shown is the reader's choice.

/** Colours as six hex digits, by what they are for. */
export interface Palette {
  readonly ground: string;
  readonly ink: string;
  /** Axes, ticks and what is said beside the point. */
  readonly quiet: string;
  readonly grid: string;
  readonly ours: string;
  readonly other: string;
  readonly curve: string;
  readonly good: string;
  readonly bad: string;
}

export const light: Palette = {
  ground: "#ffffff",
  ink: "#1f2328",
  quiet: "#59636e",
  grid: "#e2e6ea",
  ours: "#0969da",
  other: "#8c959f",
  curve: "#bc4c00",
  good: "#1a7f37",
  bad: "#cf222e",
};

export const dark: Palette = {
  ground: "#161b22",
  ink: "#e6edf3",
  quiet: "#9ba6b2",
  grid: "#2b323b",
  ours: "#58a6ff",
  other: "#7d8793",
  curve: "#f0883e",
  good: "#3fb950",
  bad: "#ff7b72",
};

/** The style sheet of a drawing: one class for each colour, as fill and as stroke. */
export function styleSheet(): string {
  const variables = (palette: Palette): string =>
    Object.entries(palette)
      .map(([name, colour]) => `--${name}:${colour}`)
      .join(";");
  const classes = Object.keys(light).map((name) => `.${name}{fill:var(--${name})}.${name}-line{stroke:var(--${name});fill:none}`);
  return [
    `svg{${variables(light)};font:12px system-ui,sans-serif}`,
    `@media(prefers-color-scheme:dark){svg{${variables(dark)}}}`,
    "text{fill:var(--ink)}text.quiet{fill:var(--quiet)}",
    ...classes,
  ].join("");
}
