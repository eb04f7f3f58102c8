// Who should hold which shard: pure, so that all replicas that see the same come to the same plan.

/** What a replica sees. */
export interface ShardView {
  /** Each shard's holder; undefined for a shard that is free to be taken. */
  readonly holders: readonly (string | undefined)[];
  /** The replicas there are, this one among them. */
  readonly members: readonly string[];
  readonly self: string;
}

/** What follows from it. */
export interface ShardPlan {
  /** The shards that this replica should hold: those it keeps and those it takes. What it holds beyond that it gives up. */
  readonly own: ReadonlySet<number>;
  /** Which other replica is expected to take which free shard. */
  readonly expected: ReadonlyMap<number, string>;
}

/**
 * Shares the shards out.
 *
 * Shares differ by at most one, and those who hold most keep the larger ones, so that a replica that comes or goes moves only its own share.
 */
export function planShards({ holders, members, self }: ShardView): ShardPlan {
  const share = Math.floor(holders.length / members.length);
  const largerShares = holders.length % members.length;
  const held = members.map((member) => ({ member, shards: indexesOf(holders, member) }));
  // Whatever somebody has beyond the larger share is on its way out and must not change the order while it goes.
  const weight = (shards: readonly number[]): number => Math.min(shards.length, share + 1);
  const ranked = held.toSorted((a, b) => weight(b.shards) - weight(a.shards) || (a.member < b.member ? -1 : 1));
  const free = indexesOf(holders, undefined);
  const own = new Set<number>();
  const expected = new Map<number, string>();
  for (const [rank, { member, shards }] of ranked.entries()) {
    const target = share + (rank < largerShares ? 1 : 0);
    const taken = free.splice(0, Math.max(0, target - shards.length));
    if (member === self) for (const shard of [...shards.slice(0, target), ...taken]) own.add(shard);
    else for (const shard of taken) expected.set(shard, member);
  }
  return { own, expected };
}

function indexesOf(holders: readonly (string | undefined)[], holder: string | undefined): number[] {
  return holders.flatMap((candidate, index) => (candidate === holder ? [index] : []));
}
