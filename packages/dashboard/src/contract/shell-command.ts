// Commands that are shown for copying. What stands in them was written by others: a shell must take each value as the word that it is.

/** A value in a command: one word or a part of one, or words of their own. */
type ShellValue = string | readonly string[];

/** Characters that mean nothing to any shell. */
const harmless = /^[\w@%+=:,./-]+$/;

/**
 * A command for a shell, each value quoted where it has to be. A list stands for as many words as it has, and without any the space before it goes too.
 */
export function shellCommand(texts: readonly string[], ...values: readonly ShellValue[]): string {
  let command = texts[0] ?? "";
  for (const [index, value] of values.entries()) {
    if (typeof value === "string") command += shellWord(value);
    else if (value.length === 0) command = command.trimEnd();
    else command += value.map(shellWord).join(" ");
    command += texts[index + 1] ?? "";
  }
  return command;
}

/** Nothing that Kubernetes stores by that name has control characters in it, so that what is shown instead of them finds nothing. */
function shellWord(value: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what it is about
  const visible = value.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, "?");
  return harmless.test(visible) ? visible : `'${visible.replaceAll("'", String.raw`'\''`)}'`;
}
