// Colours, for terminals only.

/** What a piece of text is about; each has a colour of its own. */
export type Tone = "good" | "busy" | "doubtful" | "bad" | "faint" | "strong";

/** Gives a text its colour, or leaves it as it is. */
export type Paint = (tone: Tone, text: string) => string;

/** Select Graphic Rendition, as every terminal has it. */
const codes: Readonly<Record<Tone, number>> = { good: 32, busy: 36, doubtful: 33, bad: 31, faint: 2, strong: 1 };

/** For files, pipes, and those who want none. */
export const plain: Paint = (_tone, text) => text;

/** For terminals. */
export const coloured: Paint = (tone, text) => (text === "" ? "" : `\u001b[${codes[tone]}m${text}\u001b[0m`);

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
  return text.includes("\u001b") ? text.replaceAll(escapes, "").length : text.length;
}

// oxlint-disable-next-line no-control-regex -- the escape character is what it is about
const escapes = /\u001b\[\d*m/g;
