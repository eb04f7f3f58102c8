// The shape of a set: the ranks of its targets, and when a change of them counts. Pure.
import type { RotationLog, SetShape } from "./history.ts";
import type { TargetObservation } from "./observe.ts";

// The places of a set's targets in the chain.

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

// The shape of a set: who is in which rank. People change it in several steps, and delete what they make again, so a new one counts only after a while.

/** For so long a shape must hold if nobody knows the one before it: there are objects, and no history. People apply targets one after the other. */
export const forgottenShape: SetShape = { ranks: [], longestMs: 60_000 };

/** The log with the shape as it is declared now. One that differs from what moves go by counts when it has held, unchanged, for the longest delay of that. */
export function withShape(log: RotationLog, ranks: readonly Rank[], nowMs: number): RotationLog {
  const declared = ranks.map(({ members }) => members.map(({ name }) => name));
  const longestMs = Math.max(0, ...ranks.map(({ delayMs }) => delayMs));
  const { shape } = log;
  if (!shape) return { ...log, shape: { ranks: declared, longestMs } };
  if (isSameShape(declared, shape.ranks)) {
    return shape.next || shape.longestMs !== longestMs ? { ...log, shape: { ranks: declared, longestMs } } : log;
  }
  const isKnown = shape.next !== undefined && isSameShape(declared, shape.next.ranks);
  const sinceMs = isKnown ? shape.next.sinceMs : nowMs;
  if (nowMs >= sinceMs + shape.longestMs) return { ...log, shape: { ranks: declared, longestMs } };
  return isKnown ? log : { ...log, shape: { ...shape, next: { ranks: declared, sinceMs } } };
}

/** When the declared shape counts; undefined if it does. Until then no target moves: what is declared may be half of what is meant. */
export function settlesAtMs({ shape }: RotationLog): number | undefined {
  return shape?.next && shape.next.sinceMs + shape.longestMs;
}

function isSameShape(a: SetShape["ranks"], b: SetShape["ranks"]): boolean {
  return (
    a.length === b.length && a.every((names, rank) => names.length === b[rank]?.length && names.every((name, index) => name === b[rank]?.[index]))
  );
}

/** How long a version is in no target at all on its way to this rank. */
export function gapMsOf(rank: Rank, ranks: readonly Rank[]): number {
  const before = ranks[rank.rank - 2];
  return before ? Math.max(0, rank.delayMs - before.delayMs) : 0;
}
