// What was thrown, in words: for messages that name a cause. Texts that may quote secrets are redacted where they are shown.

/** The message of an error, or whatever else was thrown as text. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
