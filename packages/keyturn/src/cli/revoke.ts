// `keyturn revoke KEY`: withdraws a key from every document that has it, after the person has seen which those are.
import { describeRevocation, findRevocation, revoke } from "../controllers/jwks/revoke.ts";
import { durationFlag, readFlags } from "../feature/flag.ts";
import { changeFlags, confirm, dryRunNote, fieldManager } from "./change.ts";
import type { Console } from "./command-line.ts";
import { allNamespacesFlag } from "./output.ts";
import { answerQuery, queryFlags } from "./queries.ts";

const flags = {
  ...changeFlags,
  allNamespaces: allNamespacesFlag,
  timeout: durationFlag({ name: "timeout", default: "30s", help: "how long to wait until the operator has withdrawn the key" }),
};

/** The flags of `keyturn revoke`. */
export const revokeFlags = [...queryFlags, ...Object.values(flags)];

/** Revokes what the name means. */
export async function revokeCommand(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  [name = ""]: readonly string[],
): Promise<void> {
  const { allNamespaces, timeout, ...choice } = readFlags(flags, given, console.environment);
  await answerQuery(given, console, async (query) => {
    const revocation = await findRevocation(query, name, allNamespaces);
    await confirm(describeRevocation(revocation), choice, console);
    const report = await revoke(query, revocation, { timeoutMs: timeout, fieldManager, dryRun: choice.dryRun });
    return { ...report, text: report.text.replaceAll(/$/gm, dryRunNote(choice)) };
  });
}
