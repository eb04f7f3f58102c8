// The places of a set's targets in the chain.
import type { TargetObservation } from "./observation.ts";

/** The targets of one order. They share one delay, the longest of theirs, and so move together. */
export interface Rank {
  /** Counted from 1. */
  readonly rank: number;
  readonly delayMs: number;
  /** In the order of their names. */
  readonly members: readonly TargetObservation[];
}

/** The ranks of a set, the first one first. */
export function ranksOf(targets: readonly TargetObservation[]): readonly Rank[] {
  const byOrder = Map.groupBy(targets, ({ order }) => order);
  return [...byOrder.keys()]
    .sort((a, b) => a - b)
    .map((order, index) => {
      const members = byOrder.get(order) ?? [];
      return {
        rank: index + 1,
        delayMs: Math.max(...members.map(({ delayMs }) => delayMs)),
        members: members.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      };
    });
}
