// How do the agents on gateways fare?
import { isApiError, Lease, managedBySelector, type Stored } from "@keyturn/runtime";
import { agentLeaseLabel } from "../agent/agent-lease.ts";
import { agentSummary } from "../agent/agent-summary.ts";
import { keyturn } from "../operator-identity.ts";
import type { Examination } from "./examination.ts";
import { fail, type Finding, ok, warn } from "./finding.ts";

const check = "agents";

/** Reads the Leases in which agents show themselves. */
export async function checkAgents({ client, features, now, signal }: Examination): Promise<readonly Finding[]> {
  if (!features.includes("checksum")) return [];
  try {
    const { items } = await client.list(Lease, { labels: `${agentLeaseLabel.key}=${agentLeaseLabel.value},${managedBySelector(keyturn)}` }, signal);
    return agentFindings(items, now());
  } catch (error) {
    if (!isApiError(error, "Forbidden")) throw error;
    return [
      warn(check, "you may not list Leases in all namespaces, so agents were not looked for", "ask somebody who may, or see the agents' own /status"),
    ];
  }
}

/** Judges the agents by their Leases. */
export function agentFindings(leases: readonly Stored<Lease>[], nowMs: number): readonly Finding[] {
  if (leases.length === 0) return [ok(check, "no agent has shown itself (one that runs with --lease=false does not)")];
  return leases.map((lease) => {
    const { health, reason, message, namespace, name } = agentSummary(lease, nowMs);
    const said = `agent ${name} in ${namespace}: ${message}`;
    return health === "attention"
      ? fail(check, `${said} (${reason})`, `see \`keyturn diff -n ${namespace}\` and the agent's /status`)
      : ok(check, said);
  });
}
