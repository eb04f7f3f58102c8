// The text of `--on-change` as words for the kernel. No shell is involved unless somebody names one.

/** Characters that mean something to a shell: whoever writes one of them expects a shell, and there is none. */
const shellCharacter = /["'\\$`|&;<>(){}*?~#!]|\[|\]/;

/**
 * The words of a command: either a JSON array of texts, taken as they are, or words separated by spaces. Anything that a shell would read in another way is refused.
 * Throws an Error whose message completes "--on-change: …".
 */
export function parseChangeCommand(text: string): readonly [string, ...string[]] {
  const words = text.trimStart().startsWith("[") ? parseArray(text) : parseWords(text);
  const [program, ...rest] = words;
  if (program === undefined || program === "") throw new Error("there is no program to run");
  return [program, ...rest];
}

function parseArray(text: string): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Error("it begins like a JSON array and is none", { cause });
  }
  if (Array.isArray(value) && value.every((word) => typeof word === "string")) return value;
  throw new Error('it must be a JSON array of texts, such as ["nginx","-s","reload"]');
}

function parseWords(text: string): readonly string[] {
  const found = shellCharacter.exec(text);
  if (found) throw new Error(`no shell reads it, so ${found[0]} would not do what it looks like; write a JSON array, such as ["sh","-c","…"]`);
  return text.split(/\s+/).filter((word) => word !== "");
}
