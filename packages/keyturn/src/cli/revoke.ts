// `keyturn revoke KEY`: withdraws a key from every document that has it, after the person has seen which those are.
import { createInterface } from "node:readline/promises";
import { describeRevocation, findRevocation, revoke } from "../controllers/jwks/revoke.ts";
import { durationFlag, readFlags, switchFlag, UsageError } from "../feature/flag.ts";
import type { Console } from "./command-line.ts";
import { allNamespacesFlag } from "./output.ts";
import { answerQuery, queryFlags } from "./queries.ts";

const flags = {
  allNamespaces: allNamespacesFlag,
  yes: switchFlag({ name: "yes", short: "y", default: false, help: "do not ask; needed where nobody can answer" }),
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
  const { allNamespaces, yes, timeout } = readFlags(flags, given, console.environment);
  await answerQuery(given, console, async (query) => {
    const revocation = await findRevocation(query, name, allNamespaces);
    if (!yes) await confirmed(describeRevocation(revocation), console);
    return revoke(query, revocation, timeout);
  });
}

async function confirmed(description: string, { height, err, signal }: Console): Promise<void> {
  err(`${description}\n`);
  if (height() === undefined || !process.stdin.isTTY)
    throw new UsageError("revoke: nothing was revoked; repeat it with --yes if this is what you want");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await lines.question("Revoke it? Type yes: ", { signal });
    if (answer.trim() !== "yes") throw new Error("nothing was revoked");
  } finally {
    lines.close();
  }
}
