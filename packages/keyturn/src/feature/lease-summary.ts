// Which replica of the operator leads which controller, from the Leases that they hold.
import type { DeepReadonly, Lease, Stored } from "@keyturn/runtime";
import { keyturn } from "./feature.ts";
import { timeMs } from "./record.ts";

/** One controller's Lease. */
export interface LeaseSummary {
  readonly controller: string;
  readonly namespace: string;
  /** Who holds it: the host or pod of the process; undefined if nobody does. */
  readonly holder: string | undefined;
  /** `held`: renewed in time. `expired`: its holder is silent for longer than it may. `free`: given back. */
  readonly state: "held" | "expired" | "free";
  readonly renewedMs: number | undefined;
  readonly acquiredMs: number | undefined;
}

/** What a Lease of the operator's says; undefined if it is none of these controllers'. `nowMs` is the API server's time. */
export function leaseSummary(
  { metadata, spec = {} }: DeepReadonly<Stored<Lease>>,
  controllers: readonly string[],
  nowMs: number,
): LeaseSummary | undefined {
  const controller = controllers.find((name) => metadata.name === `${keyturn.name}-${name}`);
  if (controller === undefined) return undefined;
  const renewedMs = timeMs(spec.renewTime);
  const isInTime = renewedMs !== undefined && renewedMs + (spec.leaseDurationSeconds ?? 0) * 1000 > nowMs;
  return {
    controller,
    namespace: metadata.namespace ?? "",
    // What follows the host is only there to tell two processes of one host apart.
    holder: spec.holderIdentity?.replace(/_[0-9a-f-]{36}$/, ""),
    state: spec.holderIdentity ? (isInTime ? "held" : "expired") : "free",
    renewedMs,
    acquiredMs: timeMs(spec.acquireTime),
  };
}
