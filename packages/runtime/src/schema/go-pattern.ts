// JavaScript regular expressions as the API server's Go (RE2) reads them, or the reason why it cannot.
import { SchemaError } from "./schema-error.ts";

/** Constructs that JavaScript has and RE2 lacks, or reads differently. Looked for outside of escapes. */
const unsupported: readonly (readonly [RegExp, string])[] = [
  [/\(\?<?[=!]/, "look-ahead and look-behind"],
  [/\\[1-9]|\\k</, "back references"],
  [/\\u|\\c/, String.raw`\u and \c escapes (write the character itself)`],
  [/\[\^?\]/, "empty character classes"],
];

/** RE2's own limit: https://github.com/google/re2/wiki/Syntax. */
const longestRepetition = 1000;

/** The pattern of a regular expression in Go's syntax; throws a `SchemaError` when Go could not compile it or would read it otherwise. */
export function goPattern(regex: RegExp, path: string): string {
  if (regex.flags.replace("u", "") !== "") {
    throw new SchemaError(path, `the regular expression ${String(regex)} has flags, and a CRD pattern has none`);
  }
  const source = regex.source.replaceAll(/\\(.)/g, (escape, char) => (char === "/" ? "/" : escape));
  const bare = source.replaceAll("\\\\", "");
  for (const [construct, name] of unsupported) {
    if (construct.test(bare))
      throw new SchemaError(path, `the regular expression ${String(regex)} uses ${name}, which the API server's RE2 does not know`);
  }
  for (const [, least = "0", most] of bare.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) {
    if (Math.max(Number(least), Number(most ?? 0)) > longestRepetition) {
      throw new SchemaError(path, `the regular expression ${String(regex)} repeats more than ${longestRepetition} times, which RE2 refuses`);
    }
  }
  return source;
}
