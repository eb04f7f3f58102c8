// The promise of an election, as an invariant of a simulation: who writes held the Lease when the write was sent.
import type { ObservedWrite, World } from "./simulation.ts";
import { objectOr, stringOr } from "../../json.ts";

/** How long after a restore nobody can promise anything: a holder may act for a renew deadline on a Lease that is no longer there, and finish what runs. */
const restoredMs = 30_000;

interface Tenure {
  readonly fromMs: number;
  readonly holder: string;
}

/** Watches one Lease, and says which write of a process to `resources` was sent without it. */
export function oneWriter(lease: string, resources: readonly string[]): (write: ObservedWrite, world: World) => string | undefined {
  const tenures: Tenure[] = [{ fromMs: 0, holder: "" }];
  return ({ change: { resource, key, after }, client, sentAtMs }, { clock, lastRestoreMs }) => {
    if (resource === "leases.coordination.k8s.io" && key === lease) {
      tenures.push({ fromMs: clock.monotonic(), holder: stringOr(objectOr(after?.["spec"])["holderIdentity"], "") });
      return undefined;
    }
    if (client === "user" || client === "server" || !resources.includes(resource)) return undefined;
    if (sentAtMs - lastRestoreMs < restoredMs) return undefined;
    const { holder, fromMs } = tenures.findLast((tenure) => tenure.fromMs <= sentAtMs) ?? { holder: "", fromMs: 0 };
    if (holder.startsWith(`${client}/`)) return undefined;
    return `${client} sent a write of ${resource} ${key} at ${sentAtMs} ms, but the lease was held by "${holder}" since ${fromMs} ms`;
  };
}
