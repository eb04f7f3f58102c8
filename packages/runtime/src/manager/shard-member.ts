// How replicas know of each other: each keeps a Lease that says that it is there.
import { createHash } from "node:crypto";
import type { Stored } from "../client/object.ts";
import type { Lease } from "./lease.ts";
import type { Candidate, LeaseState } from "./lease-state.ts";
import { isFree, stepLease } from "./lease-state.ts";

/** The label on every Lease that has to do with the shards of one controller; its value is the controller's lease name. */
export const shardsLabel = "runtime.keyturn.io/shards-of";

/** The label that tells Leases of replicas from Leases of shards. */
export const memberLabel = "runtime.keyturn.io/shard-member";

/** After so many lease times without a sign of life a replica's Lease is litter. */
const leaseTimesUntilLitter = 4;

/** A name for a replica's Lease: the identity may hold what names may not, so it goes in as a digest. */
export function memberLeaseName(prefix: string, identity: string): string {
  return `${prefix}-member-${createHash("sha256").update(identity).digest("hex").slice(0, 16)}`;
}

/** What a replica has seen of all replicas' Leases, by its own clock. */
export class ShardMembers {
  readonly #candidate: Candidate;
  readonly #states = new Map<string, Extract<LeaseState, { type: "seen" }>>();

  constructor(candidate: Candidate) {
    this.#candidate = candidate;
  }

  /** Takes in a complete list of them. */
  observe(leases: readonly Stored<Lease>[], atMs: number): void {
    const names = new Set(leases.map((lease) => lease.metadata.name));
    for (const name of this.#states.keys()) if (!names.has(name)) this.#states.delete(name);
    for (const lease of leases) {
      const { name } = lease.metadata;
      const state = stepLease(this.#states.get(name) ?? { type: "unknown" }, { type: "read", lease, atMs }, this.#candidate);
      if (state.type === "seen") this.#states.set(name, state);
    }
  }

  /** The identities that have shown life within a lease time, this replica's own among them. */
  alive(nowMs: number): readonly string[] {
    const alive = new Set([this.#candidate.identity]);
    for (const state of this.#states.values()) {
      const holder = state.lease.spec?.holderIdentity;
      if (holder && !isFree(state, nowMs, this.#candidate)) alive.add(holder);
    }
    return [...alive];
  }

  /** Leases of replicas that are long gone. */
  litter(nowMs: number): readonly Stored<Lease>[] {
    const longMs = leaseTimesUntilLitter * this.#candidate.times.leaseDurationMs;
    return Array.from(this.#states.values()).flatMap(({ lease, sinceMs }) => (nowMs - sinceMs > longMs ? [lease] : []));
  }
}
