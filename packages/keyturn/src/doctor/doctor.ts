// All checks of `keyturn doctor`, one after the other. A check that fails itself is a finding, not the end.
import { checkAgents } from "./agent-check.ts";
import { checkCrds } from "./crd-check.ts";
import type { Examination } from "./examination.ts";
import { type Finding, warn } from "./finding.ts";
import { checkLeases } from "./lease-check.ts";
import { checkOriginals } from "./original-check.ts";
import { checkRights } from "./rights-check.ts";
import { checkServer } from "./server-check.ts";
import { checkWatches } from "./watch-check.ts";

/** A check by the word that its findings have. */
const checks: readonly (readonly [string, (examination: Examination) => Promise<readonly Finding[]>])[] = [
  ["kinds", checkCrds],
  ["rights", checkRights],
  ["watches", checkWatches],
  ["leaders", checkLeases],
  ["originals", checkOriginals],
  ["agents", checkAgents],
];

/** Examines the cluster. Rejects only when the signal aborts. */
export async function examine(examination: Examination): Promise<readonly Finding[]> {
  const { findings, isThere } = await checkServer(examination);
  // Without a server every other check would say the same.
  if (!isThere) return findings;
  const all = [...findings];
  for (const [name, check] of checks) all.push(...(await check(examination).catch((error: unknown) => [unchecked(name, error, examination.signal)])));
  return all;
}

function unchecked(check: string, error: unknown, signal: AbortSignal): Finding {
  signal.throwIfAborted();
  return warn(
    check,
    `could not be checked: ${error instanceof Error ? error.message : String(error)}`,
    "try again; if it stays so, see the log of kube-apiserver",
  );
}
