// `keyturn promote SET`: makes the next version of a rotation set live without waiting for the rest of its delay.
import { describePromotion, findPromotion, linesOf, promote } from "../controllers/rotation/promote.ts";
import { readFlags } from "../feature/flag.ts";
import { changeFlags, confirm, dryRunNote, fieldManager } from "./change.ts";
import type { Console } from "./command-line.ts";
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
