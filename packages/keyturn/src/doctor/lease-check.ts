// Does one operator, and only one, lead each controller; and how do the agents on gateways fare?
import { needsAttention } from "@keyturn/dashboard/contract";
import { isApiError, Lease, managedBySelector, type Stored } from "@keyturn/runtime";
import { agentLeaseLabel, agentRecord } from "../controllers/checksum/agent-lease.ts";
import { keyturn } from "../feature/feature.ts";
import { type LeaseSummary, leaseSummary } from "../feature/lease-summary.ts";
import { renderAge } from "../text.ts";
import type { CheckContext } from "./doctor.ts";
import { fail, type Finding, ok, warn } from "../feature/finding.ts";

const check = "leaders";

/** Reads the operator's Leases. */
export async function checkLeases({ client, controllers, operatorNamespace, now, signal }: CheckContext): Promise<readonly Finding[]> {
  let leases: readonly Stored<Lease>[];
  try {
    const selection = operatorNamespace === undefined ? { fields: "metadata.namespace!=kube-node-lease" } : { namespace: operatorNamespace };
    leases = (await client.list(Lease, selection, signal)).items;
  } catch (error) {
    if (!isApiError(error, "Forbidden")) throw error;
    const place = operatorNamespace === undefined ? "in all namespaces" : `in namespace ${operatorNamespace}`;
    return [
      warn(
        check,
        `you may not list Leases ${place}, so it is not known who leads`,
        "say with --operator-namespace where the operator runs, or ask somebody who may",
      ),
    ];
  }
  const nowMs = now();
  return leaseFindings(
    controllers,
    leases.flatMap((lease) => leaseSummary(lease, controllers, nowMs) ?? []),
    nowMs,
  );
}

/** Judges who leads what. */
export function leaseFindings(controllers: readonly string[], leases: readonly LeaseSummary[], nowMs: number): readonly Finding[] {
  return controllers.map((controller) => {
    const own = leases.filter((lease) => lease.controller === controller);
    const held = own.filter(({ state }) => state === "held");
    const [leader] = held;
    if (held.length > 1) {
      const places = held.map(({ namespace, holder }) => `${holder} in ${namespace}`).join(" and ");
      return fail(
        check,
        `${controller} is led twice, by ${places}: two operators work on the same objects`,
        "stop one of them, or give them different --namespaces",
      );
    }
    if (leader) return ok(check, `${controller} is led by ${leader.holder} in ${leader.namespace}`);
    const expired = own.find(({ state }) => state === "expired");
    const start = "see whether the operator runs, with this controller among its --controllers, and what its log says";
    if (expired) {
      const since = expired.renewedMs === undefined ? "" : `, ${renderAge(expired.renewedMs, nowMs)} after its last sign of life`;
      return fail(check, `nobody leads ${controller}: ${expired.holder} in ${expired.namespace} is silent${since}`, start);
    }
    return warn(check, own.length > 0 ? `nobody leads ${controller}: its Lease was given back` : `nobody has ever led ${controller}`, start);
  });
}

const agentCheck = "agents";

/** Reads the Leases in which agents show themselves. */
export async function checkAgents({ client, features, now, signal }: CheckContext): Promise<readonly Finding[]> {
  if (!features.some(({ name }) => name === "checksum")) return [];
  try {
    const { items } = await client.list(Lease, { labels: `${agentLeaseLabel.key}=${agentLeaseLabel.value},${managedBySelector(keyturn)}` }, signal);
    return agentFindings(items, now());
  } catch (error) {
    if (!isApiError(error, "Forbidden")) throw error;
    return [
      warn(
        agentCheck,
        "you may not list Leases in all namespaces, so agents were not looked for",
        "ask somebody who may, or see the agents' own /status",
      ),
    ];
  }
}

/** Judges the agents by their Leases. */
export function agentFindings(leases: readonly Stored<Lease>[], nowMs: number): readonly Finding[] {
  if (leases.length === 0) return [ok(agentCheck, "no agent has shown itself (one that runs with --lease=false does not)")];
  return leases.map((lease) => {
    const { health, reason, message, ref, identity } = agentRecord(lease, { counting: undefined, nowMs }).record;
    const { namespace } = ref;
    const said = `agent ${identity} in ${namespace}: ${message}`;
    return needsAttention({ health })
      ? fail(agentCheck, `${said} (${reason})`, `see \`keyturn diff -n ${namespace}\` and the agent's /status`)
      : ok(agentCheck, said);
  });
}
