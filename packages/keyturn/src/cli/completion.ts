// `keyturn completion <shell>`: the script that makes a shell complete keyturn's commands, flags and names.
import { UsageError } from "../flags/flag.ts";
import { scripts, type Shell, shells } from "./completion/shells.ts";
import type { Console } from "./console.ts";

/** Prints the script. */
export function completionCommand(_given: Readonly<Record<string, string | undefined>>, console: Console, [asked = ""]: readonly string[]): void {
  const shell: Shell | undefined = shells.find((known) => known === asked);
  if (!shell) throw new UsageError(`completion: there is no script for "${asked}"; there are ${shells.join(", ")}`);
  console.out(scripts[shell]);
}
