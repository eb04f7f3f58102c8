// How each target stands and what comes next, if nothing changes but the time.
import { type ChainInput, followDueMs, nextIndex, nextLive } from "./chain.ts";
import type { Rank } from "./ranks.ts";
import { heldBy, type RotationLog } from "./rotation-log.ts";
import type { PendingStep } from "./rotation-plan.ts";

/** A source that has been another for this many delays of the first rank, and never stayed, is unstable. */
const unstableDelays = 2;

/** The version that a target gets next, if it is known when. */
export function pendingOf(target: string, log: RotationLog, rank: Rank, input: ChainInput): PendingStep | undefined {
  if (log.source.state !== "present" || input.hindered.has(target)) return undefined;
  if (rank.rank === 1) {
    const next = nextLive(log, input);
    return next && within({ seq: next.version.seq, notBeforeMs: next.dueMs, reason: "Settling" }, input);
  }
  const index = nextIndex(target, log.commits);
  const dueMs = followDueMs(log, index, rank, input.ranks);
  const commit = log.commits[index];
  if (dueMs === undefined || !commit) return undefined;
  const step = within({ seq: commit.seq, notBeforeMs: dueMs, reason: "Following" }, input);
  return step.notBeforeMs <= input.nowMs ? undefined : step;
}

/** The step as the maintenance windows let it be made. */
function within(step: PendingStep, { nowMs, opensFrom }: ChainInput): PendingStep {
  const opensMs = opensFrom(Math.max(step.notBeforeMs, nowMs));
  return opensMs > Math.max(step.notBeforeMs, nowMs) ? { ...step, notBeforeMs: opensMs, reason: "OutsideWindow" } : step;
}

/** How long a version is in no target at all on its way to this rank. */
export function gapMsOf(rank: Rank, ranks: readonly Rank[]): number {
  const before = ranks[rank.rank - 2];
  return before ? Math.max(0, rank.delayMs - before.delayMs) : 0;
}

/** When the source counts as unstable, if it does not come to rest before. */
export function unstableAtMs(log: RotationLog, input: ChainInput): number | undefined {
  const departedMs = log.commits.at(-1)?.departedMs;
  const next = nextLive(log, input);
  if (!next || departedMs === undefined || input.policy === "Queue") return undefined;
  const atMs = departedMs + unstableDelays * (input.ranks[0]?.delayMs ?? 0);
  return next.dueMs > atMs ? atMs : undefined;
}

/** When objects go because their source is gone. */
export function removalTimes({ source, commits }: RotationLog, ranks: readonly Rank[]): readonly number[] {
  if (source.state !== "gone") return [];
  return ranks.flatMap(({ delayMs, members }) =>
    members.flatMap(({ name, deletionMode }) => (deletionMode === "cascade" && heldBy(name, commits) ? [source.sinceMs + delayMs] : [])),
  );
}
