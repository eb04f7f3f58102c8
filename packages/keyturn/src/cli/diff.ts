// `keyturn diff`: which Secrets differ from the published checksum, and in which direction.
import { Secret } from "@keyturn/runtime";
import { diffReport } from "../agent/diff-report.ts";
import { SecretCheckSum } from "../controllers/checksum/api.ts";
import { memberFlags } from "../controllers/checksum/flags.ts";
import { readFlags } from "../flags/flag.ts";
import type { Console } from "./console.ts";
import { allNamespacesFlag } from "./output.ts";
import { answerQuery, followedQueryFlags } from "./query.ts";

const flags = {
  allNamespaces: allNamespacesFlag,
  versionAnnotations: memberFlags.versionAnnotations,
  secretSelector: memberFlags.secretSelector,
  secretTypes: memberFlags.secretTypes,
};

/** The flags of `keyturn diff`. */
export const diffFlags = [...followedQueryFlags, ...Object.values(flags)];

/** Prints the differences. */
export async function diffCommand(given: Readonly<Record<string, string | undefined>>, console: Console): Promise<void> {
  const { allNamespaces, versionAnnotations, secretSelector: labels, secretTypes: types } = readFlags(flags, given, console.environment);
  const options = { rules: { versionAnnotations }, labels, types, allNamespaces };
  await answerQuery(given, console, (query) => diffReport(query, options), { kinds: [SecretCheckSum, Secret], allNamespaces });
}
