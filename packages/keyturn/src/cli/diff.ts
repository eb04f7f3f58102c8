// `keyturn diff`: which Secrets differ from the published checksum, and in which direction.
import { diffReport } from "../agent/diff-report.ts";
import { memberFlags } from "../controllers/checksum/flags.ts";
import { readFlags } from "../flags/flag.ts";
import type { Console } from "./console.ts";
import { allNamespacesFlag, answerQuery, queryFlags } from "./query.ts";

const flags = {
  allNamespaces: allNamespacesFlag,
  versionAnnotations: memberFlags.versionAnnotations,
  secretSelector: memberFlags.secretSelector,
  secretTypes: memberFlags.secretTypes,
};

/** The flags of `keyturn diff`. */
export const diffFlags = [...queryFlags, ...Object.values(flags)];

/** Prints the differences. */
export async function diffCommand(given: Readonly<Record<string, string | undefined>>, console: Console): Promise<void> {
  const { allNamespaces, versionAnnotations, secretSelector: labels, secretTypes: types } = readFlags(flags, given, console.environment);
  await answerQuery(given, console, (query) => diffReport(query, { rules: { versionAnnotations }, labels, types, allNamespaces }));
}
