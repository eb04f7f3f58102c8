// All checks of `keyturn doctor`, one after the other, and what they work with. A check that fails itself is a finding, not the end.
import type { AccessRule, Client, Clock, Transport } from "@keyturn/runtime";
import { type Feature, type Finding, warn } from "../feature/feature.ts";
import { checkCrds } from "./crd-check.ts";
import { installedFindings, type InstalledOperator } from "./installed.ts";
import { checkLeases } from "./lease-check.ts";
import { checkPredecessors } from "./predecessor-check.ts";
import { checkRights, checkWatches } from "./rights-check.ts";
import { checkServer } from "./server-check.ts";
import type { Paint, Tone } from "../text.ts";

/** The cluster, and the operator as its flags describe it. */
export interface CheckContext {
  readonly client: Client;
  readonly transport: Transport;
  readonly clock: Clock;
  /** The API server's time. */
  readonly now: () => number;
  /** By how much the API server's clock is ahead; undefined before its first answer. */
  readonly serverAheadMs: () => number | undefined;
  /** Where requests go. */
  readonly server: string;
  /** The operators whose Deployments are there. */
  readonly installed: readonly InstalledOperator[];
  /** The chosen ones. */
  readonly features: readonly Feature[];
  /** The names of the chosen controllers. */
  readonly controllers: readonly string[];
  /** Every right that the chosen controllers and the manager need, wherever the operator works. */
  readonly access: readonly AccessRule[];
  /** The namespaces that the operator is limited to; empty for all. */
  readonly namespaces: readonly string[];
  /** Where the operator's Leases are; undefined if that is not known. */
  readonly operatorNamespace: string | undefined;
  /** Whose rights to check instead of one's own. */
  readonly serviceAccount: { readonly namespace: string; readonly name: string } | undefined;
  readonly signal: AbortSignal;
}

// All checks of `keyturn doctor`, one after the other. A check that fails itself is a finding, not the end.

/** A check by the word that its findings have. */
type NamedCheck = readonly [name: string, check: (context: CheckContext) => Promise<readonly Finding[]>];

/** For every feature. */
const checks: readonly NamedCheck[] = [
  ["operator", async ({ installed }) => installedFindings(installed)],
  ["kinds", checkCrds],
  ["rights", checkRights],
  ["watches", checkWatches],
  ["leaders", checkLeases],
  ["originals", checkPredecessors],
];

/** Examines the cluster. Rejects only when the signal aborts. */
export async function examine(context: CheckContext): Promise<readonly Finding[]> {
  const { findings, isThere } = await checkServer(context);
  // Without a server every other check would say the same.
  if (!isThere) return findings;
  const all = [...findings];
  for (const [name, check] of [...checks, ...ownChecks(context)])
    all.push(...(await check(context).catch((error: unknown) => [unchecked(name, error, context.signal)])));
  return all;
}

/** What the chosen features check themselves. */
function ownChecks({ features }: CheckContext): readonly NamedCheck[] {
  return features.flatMap((feature) =>
    (feature.checks ?? []).map(({ name, find }): NamedCheck => [name, ({ client, now, signal }) => find({ client, nowMs: now(), signal })]),
  );
}

function unchecked(check: string, error: unknown, signal: AbortSignal): Finding {
  signal.throwIfAborted();
  return warn(
    check,
    `could not be checked: ${error instanceof Error ? error.message : String(error)}`,
    "try again; if it stays so, see the log of kube-apiserver",
  );
}

// What was found, as a text for people.

const tones: Readonly<Record<Finding["level"], Tone>> = { ok: "good", warn: "doubtful", fail: "bad" };

/** One line for each finding, with what to do below it, and the count at the end. What is to be done about several is said once. */
export function findingsText(findings: readonly Finding[], paint: Paint): string {
  const widest = Math.max(0, ...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, level, message, todo }, index) => [
    `${paint(tones[level], level.padEnd(4))}  ${check.padEnd(widest)}  ${message}`,
    ...(todo === undefined || findings[index + 1]?.todo === todo ? [] : [`${" ".repeat(widest + 8)}${paint("faint", `→ ${todo}`)}`]),
  ]);
  const count = (level: Finding["level"], word: string): string => {
    const { length } = findings.filter((finding) => finding.level === level);
    return `${length} ${word}${length === 1 || level === "ok" ? "" : "s"}`;
  };
  return [...lines, "", `${count("ok", "ok")}, ${count("warn", "warning")}, ${count("fail", "failure")}`].join("\n");
}
