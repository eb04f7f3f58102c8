// What commands that change something share: a dry run that the API server checks, and a question before.
import { type Flag, switchFlag, UsageError } from "../feature/flag.ts";
import type { Console } from "./command-line.ts";

const dryRunSwitch = switchFlag({
  name: "dry-run",
  group: "Change",
  default: false,
  help: "show what would be done, have the API server check it, and change nothing",
});

/** As kubectl has it, `--dry-run=server` and `--dry-run=none` are understood too. */
const dryRun: Flag<boolean> = {
  ...dryRunSwitch,
  parse(text) {
    if (text === "server" || text === "client") return true;
    return text === "none" ? false : dryRunSwitch.parse(text);
  },
};

/** The flags of every such command. */
export const changeFlags = {
  dryRun,
  yes: switchFlag({ name: "yes", short: "y", group: "Change", default: false, help: "do not ask; needed where nobody can answer" }),
};

/** How a command may change something. */
export interface ChangeChoice {
  readonly yes: boolean;
  readonly dryRun: boolean;
}

/** Who has written it, in the managed fields of an object. */
export const fieldManager = "keyturn-cli";

/** What stands behind a line about something that was only checked. */
export function dryRunNote({ dryRun: isDry }: ChangeChoice): string {
  return isDry ? " (server dry run)" : "";
}

/** Shows what is about to be done and asks; rejects if the answer is not yes, or nobody can answer. A dry run needs no answer. */
export async function confirm(description: string, { yes, dryRun: isDry }: ChangeChoice, { ask, err }: Console): Promise<void> {
  if (yes || isDry) return;
  err(`${description}\n`);
  if (!ask) throw new UsageError("nothing was changed, because nobody can answer here; repeat it with --yes if this is what you want");
  const answer = await ask("Go on? [y/N] ");
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new Error("nothing was changed");
}
