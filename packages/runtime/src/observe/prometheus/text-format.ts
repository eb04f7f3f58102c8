// Prometheus' text format, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format

/** The media type of the format. */
export const textContentType = "text/plain; version=0.0.4; charset=utf-8";

/** The two lines before the series of a metric. */
export function headText(name: string, { help, type }: { readonly help: string; readonly type: string }): string {
  return `# HELP ${name} ${escapedHelp(help)}\n# TYPE ${name} ${type}`;
}

/** Adds a label to those that are text already: `a="x",b="y"`. One without a value is left out. */
export function labelsText(before: string, name: string, value: string | undefined): string {
  if (value === undefined) return before;
  return `${before === "" ? "" : `${before},`}${name}="${escapedValue(value)}"`;
}

/** One line, for labels that are text already. */
export function sampleText(name: string, labels: string, value: number): string {
  return labels === "" ? `${name} ${numberText(value)}` : `${name}{${labels}} ${numberText(value)}`;
}

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", '"': '\\"' };

function escapedHelp(text: string): string {
  return text.replaceAll(/[\\\n]/g, (character) => escapes[character] ?? character);
}

function escapedValue(text: string): string {
  return text.replaceAll(/[\\\n"]/g, (character) => escapes[character] ?? character);
}
