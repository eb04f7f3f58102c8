// Where something was thrown, without what it says: code that is handed whole objects may quote a Secret in its message.

/** Fields for a log line: the error's name and its innermost frames, never its message. */
export function thrownPlace(error: unknown): { readonly error: string; readonly frames: readonly string[] } {
  if (!(error instanceof Error)) return { error: typeof error, frames: [] };
  // A message of several lines may look like frames, so it is cut off before they are looked for.
  const stack = (error.stack ?? "").replace(error.message, "");
  return { error: error.name, frames: (stack.match(/^[ \t]+at .*$/gm) ?? []).slice(0, 3).map((frame) => frame.trim()) };
}
