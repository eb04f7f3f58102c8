// Does one operator, and only one, lead each controller?
import { isApiError, Lease, type Stored } from "@keyturn/runtime";
import { type LeaseSummary, leaseSummary } from "../feature/record.ts";
import { isShared } from "../feature/served-scope.ts";
import { renderAge } from "../text.ts";
import type { CheckContext } from "./doctor.ts";
import { fail, type Finding, ok, warn } from "../feature/feature.ts";

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
    if (held.length > 0) {
      const places = held.map(({ namespace, holder }) => `${holder} in ${namespace}`).join(" and ");
      const isFought = held.some((one, index) => held.slice(index + 1).some((other) => doShare(one, other)));
      if (!isFought) return ok(check, `${controller} is led by ${places}${held.length > 1 ? ", each over other objects" : ""}`);
      return fail(
        check,
        `${controller} is led twice, by ${places}: two operators work on the same objects`,
        "stop one of them, or give them different --namespaces or --selector",
      );
    }
    const expired = own.find(({ state }) => state === "expired");
    const start = "see whether the operator runs, with this controller among its --controllers, and what its log says";
    if (expired) {
      const since = expired.renewedMs === undefined ? "" : `, ${renderAge(expired.renewedMs, nowMs)} after its last sign of life`;
      return fail(check, `no leader for ${controller}: ${expired.holder} in ${expired.namespace} is silent${since}`, start);
    }
    return warn(check, own.length > 0 ? `no leader for ${controller}: its Lease was released` : `no leader elected for ${controller}`, start);
  });
}

/** Whoever does not say what it serves may serve anything. */
function doShare(one: LeaseSummary, other: LeaseSummary): boolean {
  return !one.serves || !other.serves || isShared(one.controller, one.serves, other.serves);
}
