// `keyturn promote SET` makes the next version of a rotation set live without waiting for the rest of its delay; `keyturn revoke KEY` withdraws a key from every
// document that has it. Both show first what comes of it.
import { describeRevocation, findRevocation, revoke } from "../controllers/jwks/revoke.ts";
import { describePromotion, findPromotion, linesOf, promote } from "../controllers/rotation/promote.ts";
import { durationFlag, readFlags } from "../feature/flag.ts";
import { changeFlags, confirm, dryRunNote, fieldManager } from "./change.ts";
import type { Console } from "./command-line.ts";
import { allNamespacesFlag } from "./output.ts";
import { answerQuery, queryFlags } from "./queries.ts";
import { inSession, sessionFlags } from "./session.ts";

/** The flags of `keyturn promote`. */
export const promoteFlags = [...sessionFlags, ...Object.values(changeFlags)];

/** Promotes what the name means. */
export async function promoteCommand(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  [name = ""]: readonly string[],
): Promise<void> {
  const choice = readFlags(changeFlags, given, console.environment);
  await inSession(given, console, async (session) => {
    const query = { ...session, nowMs: session.now() };
    const promotion = await findPromotion(query, name);
    await confirm(describePromotion(promotion), choice, console);
    await promote(query, promotion, { fieldManager, dryRun: choice.dryRun });
    const lines = linesOf(promotion).map((line) => `${line.trim()}${dryRunNote(choice)}\n`);
    console.out(lines.join(""));
    if (!choice.dryRun) console.out(`see keyturn plan ${promotion.set} -n ${session.namespace} --watch\n`);
  });
}

const ownRevokeFlags = {
  ...changeFlags,
  allNamespaces: allNamespacesFlag,
  timeout: durationFlag({ name: "timeout", default: "30s", help: "how long to wait until the operator has withdrawn the key" }),
};

/** The flags of `keyturn revoke`. */
export const revokeFlags = [...queryFlags, ...Object.values(ownRevokeFlags)];

/** Revokes what the name means. */
export async function revokeCommand(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  [name = ""]: readonly string[],
): Promise<void> {
  const { allNamespaces, timeout, ...choice } = readFlags(ownRevokeFlags, given, console.environment);
  await answerQuery(given, console, async (query) => {
    const revocation = await findRevocation(query, name, allNamespaces);
    await confirm(describeRevocation(revocation), choice, console);
    const report = await revoke(query, revocation, { timeoutMs: timeout, fieldManager, dryRun: choice.dryRun });
    return { ...report, text: report.text.replaceAll(/$/gm, dryRunNote(choice)) };
  });
}
