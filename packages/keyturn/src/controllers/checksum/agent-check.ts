// How do the agents on gateways fare? For `keyturn doctor`.
import { needsAttention } from "@keyturn/dashboard/contract";
import { isApiError, Lease, managedBySelector, type Stored } from "@keyturn/runtime";
import { fail, type Finding, keyturn, ok, type Query, warn } from "../../feature/feature.ts";
import { agentLeaseLabel, agentOf } from "./agent-lease.ts";

const check = "agents";

/** Reads the Leases in which agents show themselves. */
export async function checkAgents({ client, nowMs, signal }: Pick<Query, "client" | "nowMs" | "signal">): Promise<readonly Finding[]> {
  try {
    const { items } = await client.list(Lease, { labels: `${agentLeaseLabel.key}=${agentLeaseLabel.value},${managedBySelector(keyturn)}` }, signal);
    return agentFindings(items, nowMs);
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
    const { health, reason, message, ref, identity } = agentOf(lease, { counting: undefined, nowMs }).agent;
    const { namespace } = ref;
    const said = `agent ${identity} in ${namespace}: ${message}`;
    return needsAttention({ health })
      ? fail(check, `${said} (${reason})`, `see \`keyturn diff -n ${namespace}\` and the agent's /status`)
      : ok(check, said);
  });
}
