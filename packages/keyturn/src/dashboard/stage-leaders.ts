// Whether an operator works on each step: what nobody works on may be long out of date, however well it looks.
import type { StageLeader, StageName } from "@keyturn/dashboard/contract";
import { type Client, type Clock, Lease, type RunnableHost, sleep } from "@keyturn/runtime";
import { type FeatureName, keyturn, type StageController } from "../feature/feature.ts";
import { leaderOf } from "../status/credentials.ts";
import { isContactLost, type ServerContact } from "../status/server-contact.ts";
import { unreadOf, type WatchedLeases } from "../status/status-watches.ts";

/** Who works on the steps. */
export interface StageLeaders {
  /** Whether every step that is shown is known to be switched on, so that a kind that is not installed is missed. */
  readonly switchedOn: boolean;
  /** Undefined until it has been found out. */
  of(this: void, step: StageName, nowMs: number): StageLeader | undefined;
}

/** Of each step. */
type Controllers = Readonly<Record<FeatureName, readonly StageController[]>>;

const led: StageLeader = { state: "led", message: "" };

/** As the Leases in the cluster have it, for who is no operator. */
export function leaseLeaders(leases: Pick<WatchedLeases, "status" | "summaries">, controllers: Controllers): StageLeaders {
  return {
    switchedOn: false,
    of(step, nowMs) {
      const status = leases.status();
      const unread = unreadOf(status);
      if (!unread && !status.synced) return undefined;
      const own = leases.summaries(nowMs).filter(({ controller }) => controllers[step]?.some(({ name }) => name === controller));
      return leaderOf({ controllers: controllers[step] ?? [], leases: own }, unread);
    },
  };
}

/** What the operator's own process knows. */
interface OwnLeadersOptions {
  readonly statuses: RunnableHost["controllers"];
  readonly controllers: Controllers;
  readonly contact: ServerContact;
  readonly renewals: Renewals;
}

/** As the operator's own process knows it. For a replica that stands by somebody leads only if somebody renews the Lease. */
export function ownLeaders({ statuses, controllers, contact, renewals }: OwnLeadersOptions): StageLeaders {
  return {
    switchedOn: true,
    of(step) {
      const own = statuses().filter((status) => controllers[step]?.some(({ name }) => name === status.name));
      if (isContactLost(contact)) {
        return { state: "unknown", message: `the API server has not answered since ${new Date(contact.lastMs()).toISOString()}` };
      }
      const idle = own.find(({ ready, state }) => !ready || state.startsWith("waiting for CRD "));
      if (own.length === 0 || idle?.state === "starting") return undefined;
      const working = own.filter(({ name, state, ready }) => ready && (state === "active" || (state === "standby" && renewals.of(name))));
      const unled = controllers[step]?.filter(({ name }) => !working.some((status) => status.name === name)) ?? [];
      const only = working.length > 0 && { only: unled.flatMap(({ resources }) => resources) };
      if (idle) return { state: "none", message: `controller ${idle.name}: ${idle.state}`, ...only };
      const standby = own.filter(({ state }) => state === "standby").map(({ name }) => ({ name, renewed: renewals.of(name) }));
      const alone = standby.find(({ renewed }) => renewed === false);
      if (alone) return { state: "none", message: `nobody renews the Lease of controller ${alone.name}`, ...only };
      return standby.some(({ renewed }) => renewed === undefined) ? undefined : led;
    },
  };
}

/** Whether the Leases are renewed that others hold. */
interface Renewals {
  /** Undefined until it has been found out. */
  of(this: void, controller: string): boolean | undefined;
}

/** Where they are looked for. */
interface RenewalsOptions {
  readonly client: Pick<Client, "get">;
  readonly clock: Clock;
  /** Of the Leases. */
  readonly namespace: string;
  readonly statuses: RunnableHost["controllers"];
}

const lookEveryMs = 5_000;

/** A Lease as it was seen, and since when by our own clock: those of other machines are not believed. */
interface SeenLease {
  readonly version: string | undefined;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Reads the Leases of controllers that stand by, until the signal aborts. Others are the process's own, or nobody's to wait for. */
export function watchRenewals({ client, clock, namespace, statuses }: RenewalsOptions, signal: AbortSignal): Renewals {
  const seen = new Map<string, SeenLease>();
  const look = async (controller: string): Promise<void> => {
    const lease = await client.get(Lease, { namespace, name: `${keyturn.name}-${controller}` }, signal);
    const { holderIdentity = "", leaseDurationSeconds = 0 } = lease?.spec ?? {};
    const version = holderIdentity === "" ? undefined : lease?.metadata.resourceVersion;
    const nowMs = clock.monotonic();
    const before = seen.get(controller);
    const sinceMs = before && before.version === version ? before.sinceMs : nowMs;
    // What was renewed right after a look is seen with the next one.
    seen.set(controller, { version, sinceMs, untilMs: sinceMs + leaseDurationSeconds * 1000 + lookEveryMs });
  };
  const keep = async (): Promise<void> => {
    while (!signal.aborted) {
      const standby = statuses().filter(({ state }) => state === "standby");
      for (const name of seen.keys()) if (!standby.some((status) => status.name === name)) seen.delete(name);
      // A Lease that cannot be read is not seen to be renewed, and runs out.
      await Promise.allSettled(standby.map(({ name }) => look(name)));
      await sleep(clock, standby.length > 0 ? lookEveryMs : 1_000, signal).catch(() => {});
    }
  };
  void keep();
  return {
    of(controller) {
      const lease = seen.get(controller);
      return lease && lease.version !== undefined && lease.untilMs > clock.monotonic();
    },
  };
}
