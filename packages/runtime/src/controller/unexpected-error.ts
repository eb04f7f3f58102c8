// What may be said about an error nobody foresaw: what it is and where it came from, but not its message.

/** A description without the error's own words: parsers and argument checks quote their input there, and the input may be a secret. */
export interface UnexpectedError {
  readonly name: string;
  readonly errorCode: string | undefined;
  /** The stack's frames, innermost first. */
  readonly frames: readonly string[];
}

/** Describes anything that was thrown. */
export function describeUnexpected(thrown: unknown): UnexpectedError {
  if (!(thrown instanceof Error)) return { name: `a thrown ${typeof thrown}`, errorCode: undefined, frames: [] };
  const errorCode = "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;
  const stack = thrown.stack ?? "";
  const messageEnd = thrown.message === "" ? 0 : stack.indexOf(thrown.message) + thrown.message.length;
  const frames = stack
    .slice(messageEnd)
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim());
  return { name: thrown.name, errorCode, frames };
}
