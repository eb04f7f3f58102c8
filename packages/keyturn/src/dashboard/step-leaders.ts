// Whether an operator works on each step: what nobody works on may be long out of date, however well it looks.
import type { StepLeader, StepName } from "@keyturn/dashboard/contract";
import type { RunnableHost } from "@keyturn/runtime";
import type { FeatureName } from "../feature/feature.ts";
import type { LeaseSummary } from "../feature/summary.ts";
import type { WatchedLeases } from "../status/status-watches.ts";

/** Who works on the steps. */
export interface StepLeaders {
  /** Whether every step that is shown is known to be switched on, so that a kind that is not installed is missed. */
  readonly switchedOn: boolean;
  /** Undefined until it has been found out. */
  of(this: void, step: StepName, nowMs: number): StepLeader | undefined;
}

/** The controllers of each step, as their Leases name them. */
type ControllerNames = Readonly<Record<FeatureName, readonly string[]>>;

const led: StepLeader = { state: "led", message: "" };

/** As the Leases in the cluster tell it, for who is no operator. */
export function leaseLeaders(leases: Pick<WatchedLeases, "status" | "summaries">, controllers: ControllerNames): StepLeaders {
  return {
    switchedOn: false,
    of(step, nowMs) {
      const { state, synced } = leases.status();
      if (state.type === "forbidden")
        return { state: "unknown", message: `the right to ${state.rule} is missing; --operator-namespace says where to look` };
      if (state.type === "retrying" || state.type === "missing") return { state: "unknown", message: "the Leases of operators cannot be read" };
      if (!synced) return undefined;
      const own = leases.summaries(nowMs).filter(({ controller }) => controllers[step].includes(controller));
      // Another operator, or an earlier place, may have left a Lease behind: one that is held is enough.
      const unheld = Map.groupBy(own, ({ controller }) => controller)
        .values()
        .find((some) => some.every((lease) => lease.state !== "held"));
      if (own.length === 0) return { state: "none", message: "there is no Lease of an operator" };
      return unheld ? { state: "none", message: unheldText(unheld) } : led;
    },
  };
}

function unheldText(leases: readonly LeaseSummary[]): string {
  const silent = leases.find(({ state }) => state === "expired");
  if (!silent) return "the last operator has given its Lease back";
  const since = silent.renewedMs === undefined ? "" : ` since ${new Date(silent.renewedMs).toISOString()}`;
  return `${silent.holder} has not renewed its Lease${since}`;
}

/** As the operator's own process knows it. A replica that stands by takes a Lease that nobody holds, so that somebody leads as long as it does. */
export function ownLeaders(statuses: RunnableHost["controllers"], controllers: ControllerNames): StepLeaders {
  return {
    switchedOn: true,
    of(step) {
      const own = statuses().filter(({ name }) => controllers[step].includes(name));
      const idle = own.find(({ ready, state }) => !ready || state.startsWith("waiting for CRD "));
      if (own.length === 0 || idle?.state === "starting") return undefined;
      return idle ? { state: "none", message: `controller ${idle.name}: ${idle.state}` } : led;
    },
  };
}
